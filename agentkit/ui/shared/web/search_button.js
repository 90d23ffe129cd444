export default function ({ parentElement }) {
    const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
    parentElement.querySelector("kbd").textContent = isMac ? "⌘ K" : "Ctrl K";
    parentElement.querySelector("button").onclick = () => window.dispatchEvent(new Event("open-search"));
}
