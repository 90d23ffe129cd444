function start({ data }) {
    const chosen = '.st-key-new-chat button, .leads, [data-testid="stSidebarNavLink"]';
    const clicked = (event) => {
        const [inner] = event.composedPath();  // also within a piece of ours
        const target = inner instanceof Element ? inner.closest(chosen) : null;
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
