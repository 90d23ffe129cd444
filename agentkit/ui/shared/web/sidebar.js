function start({ data }) {
    const chosen = '.st-key-new-chat button, [class*="st-key-chat-row-"] .stButton button, [data-testid="stSidebarNavLink"]';
    const clicked = (event) => {
        const target = event.target instanceof Element ? event.target.closest(chosen) : null;
        if (!target) return;
        const isHere = target.matches("a") && new URL(target.href).pathname === location.pathname;
        if (isHere && data.chat) {  // the open chat stays
            event.preventDefault();
            event.stopPropagation();
        }
        if (innerWidth < 768) {  // there, the sidebar covers the page
            const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button');
            setTimeout(() => close?.click());
        }
    };
    document.addEventListener("click", clicked, true);
    return () => document.removeEventListener("click", clicked, true);
}
