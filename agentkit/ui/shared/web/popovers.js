// Streamlit tells the server that a popover was closed by a click outside of it after the click itself was dealt
// with, and names the page of before: that undoes a click on a link to another page. So the popover is closed
// first, and the click is done when that has been told: Streamlit tells what changed when a timer of 0 ms rings.
function start() {
    const links = '[data-testid="stSidebarNavLink"], [data-testid="stPageLink-NavLink"]';
    const clicked = (event) => {
        const link = event.target instanceof Element && event.target.closest(links);
        const box = document.querySelector('[data-testid="stPopoverBody"]');
        if (!link || !box || box.contains(link)) return;
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;  // it opens another tab
        event.preventDefault();
        event.stopImmediatePropagation();
        document.dispatchEvent(new MouseEvent("click"));
        setTimeout(() => link.click());
    };
    window.addEventListener("click", clicked, true);
    return () => window.removeEventListener("click", clicked, true);
}
