function start({ setTriggerValue }) {
    const looked = () => { if (!document.hidden) setTriggerValue("looked", Date.now()); };
    document.addEventListener("visibilitychange", looked);
    window.addEventListener("focus", looked);
    return () => {
        document.removeEventListener("visibilitychange", looked);
        window.removeEventListener("focus", looked);
    };
}
