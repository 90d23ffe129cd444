// Streamlit keeps the address when somebody clicks the link of the page that they are on. Here it leads to where
// the page begins.
function start({ setTriggerValue }) {
    const clicked = (event) => {
        const link = event.target instanceof Element && event.target.closest('[data-testid="stSidebarNavLink"]');
        if (!link || new URL(link.href).pathname !== location.pathname || !location.search) return;
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;  // it opens another tab
        event.preventDefault();
        event.stopPropagation();
        setTriggerValue("home", true);
        if (innerWidth < 768) {  // there, the sidebar covers the page
            const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button');
            setTimeout(() => close?.click());
        }
    };
    document.addEventListener("click", clicked, true);
    return () => document.removeEventListener("click", clicked, true);
}
