// Streamlit tells the server that a popover was closed by a click outside of it after the click itself was dealt
// with, and names the page of before: that undoes a click on a link to another page. So the popover is closed
// first, and the click is done when that has been told: Streamlit tells what changed when a timer of 0 ms rings.
function closeFirst() {
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

// What is closed by keyboard gives the focus back to what it was opened from, and a button that goes with what it does,
// to the composer: Streamlit leaves it on nothing, and one would have to come again from the top of the page. In a
// dialog the focus comes back to the dialog, for the mouse as well: it hears Escape only then. A part that says
// data-leads-focus does this by itself.
function giveBack() {
    const closes = '[role="dialog"], [role="menu"], [data-testid="stPopoverBody"], dialog[open]';
    let last = null, root = document, key = "", timer = 0;
    const focused = (event) => {
        const node = event.composedPath()[0];
        if (!(node instanceof Element) || node.closest(closes)) return;
        last = node;
        root = node.getRootNode();
        const named = node.closest('[class*="st-key-"]')?.className.match(/st-key-\S+/)[0] ?? "";
        key = named.replace(/--\d+$/, "");  // it may be drawn again as the next of the same
    };
    const find = () => {
        if (last?.isConnected) return last;
        const again = key ? root.querySelector(`:is(.${CSS.escape(key)}, [class*="${key}--"]) button`) : null;
        if (again || document.querySelector('[data-test-script-state="running"]')) return again;  // it may be drawn yet
        return document.querySelector('[data-testid="stChatInputTextArea"]');
    };
    const look = (triesLeft, place) => {  // for a while: what is drawn anew may drop it again
        if (document.activeElement === document.body) place()?.focus();
        if (triesLeft) timer = setTimeout(() => look(triesLeft - 1, place), 100);
    };
    const inDialog = () => document.querySelector('[data-testid="stDialog"] [role="dialog"]');
    const anywhere = () => document.querySelector(closes) ? inDialog() : find();
    const acted = (event) => {
        clearTimeout(timer);
        if (event.type !== "keydown") {
            if (event.target.closest?.('[role="menu"]')) look(100, inDialog);
            return;
        }
        focused(event);  // within a part of its own, moves of the focus are not heard out here
        const pressed = ["Enter", " "].includes(event.key) && event.composedPath()[0].closest?.("button");
        if (event.target.matches?.("[data-leads-focus]")) return;
        if (pressed || event.target.closest?.(closes)) look(100, anywhere);
    };
    const heard = { focusin: focused, keydown: acted, pointerdown: acted };
    Object.entries(heard).forEach(([name, hear]) => document.addEventListener(name, hear, true));
    return () => {
        clearTimeout(timer);
        Object.entries(heard).forEach(([name, hear]) => document.removeEventListener(name, hear, true));
    };
}

// Streamlit draws what is opened at the end of the page: Tab leads there from the button that has opened it.
function leadIn() {
    const parts = "button, input, textarea, select, a[href]";
    const pressed = (event) => {
        const opener = document.activeElement, body = document.querySelector('[data-testid="stPopoverBody"]');
        if (event.key !== "Tab" || event.shiftKey || !body || opener.getAttribute("aria-expanded") !== "true") return;
        if (body.contains(opener)) return;
        event.preventDefault();
        lead(body, 20);
    };
    const lead = (body, triesLeft) => {  // what is in it comes a moment after it
        const first = [...body.querySelectorAll(parts)].find((part) => !part.disabled && part.checkVisibility());
        if (first) first.focus();
        else if (triesLeft && body.isConnected) setTimeout(() => lead(body, triesLeft - 1), 100);
    };
    document.addEventListener("keydown", pressed, true);
    return () => document.removeEventListener("keydown", pressed, true);
}

// Escape closes a dialog: what was typed in a field of it counts, as it does when one clicks beside the dialog. A list
// that is open is closed alone.
function tellFirst() {
    const pressed = (event) => {
        const field = event.key === "Escape" ? document.activeElement : null;
        if (field?.matches('[role="dialog"] :is(input, textarea):not([role="combobox"])')) field.blur();
    };
    document.addEventListener("keydown", pressed, true);
    return () => document.removeEventListener("keydown", pressed, true);
}

// What is opened in place of a list begins at its top, as far down as the list was read.
let place = null;
function beginAbove(shown) {
    if (place !== null && shown !== place) document.getElementById("stMain")?.scrollTo(0, 0);
    place = shown;
}

function start({ data }) {
    beginAbove(data.place);
    const ends = [closeFirst(), giveBack(), leadIn(), tellFirst()];
    return () => ends.forEach((end) => end());
}
