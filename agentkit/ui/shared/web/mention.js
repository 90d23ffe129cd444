let refused = null;  // what stood in the box when @ opened the choice: pressed again there, it is a letter

const box = () => document.querySelector('[data-testid="stChatInputTextArea"]');
const opener = () => document.querySelector(".st-key-mention button");
const field = () => document.querySelector('[data-testid="stPopoverBody"] input:not([type="checkbox"])');

function start() {
    const focus = (triesLeft) => {
        const found = field();
        if (found) found.focus();
        else if (triesLeft) setTimeout(() => focus(triesLeft - 1), 100);
    };
    const typed = (event) => {
        const area = event.target;
        if (area !== box() || event.data !== "@" || !opener()) return;
        const before = area.value.slice(0, area.selectionStart);
        if (/\S$/.test(before) || refused === area.value) return;
        refused = area.value;
        event.preventDefault();
        if (opener().getAttribute("aria-expanded") !== "true") opener().click();
        focus(30);
    };
    document.addEventListener("beforeinput", typed, true);
    return () => document.removeEventListener("beforeinput", typed, true);
}
