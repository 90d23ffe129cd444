let inBox = false;  // whether the choice was opened from the box
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
        if (area !== box()) return;
        if (event.data !== "@") refused = null;
        if (event.data !== "@" || !opener()) return;
        const before = area.value.slice(0, area.selectionStart);
        if (/\S$/.test(before) || refused === area.value) return;
        refused = area.value;
        event.preventDefault();
        if (opener().getAttribute("aria-expanded") !== "true") opener().click();
        inBox = true;
        focus(30);
    };
    const back = (triesLeft) => {  // once it is closed, as Streamlit gives the focus to its button then
        if (document.querySelector('[data-testid="stPopoverBody"]')) {
            if (triesLeft) setTimeout(() => back(triesLeft - 1), 50);
        } else if (inBox) {
            inBox = false;
            setTimeout(() => box()?.focus(), 50);
        }
    };
    const left = (event) => {
        if (event.key !== "Escape") return;
        inBox = inBox && document.querySelector('[data-testid="stPopoverBody"]') !== null;
        if (inBox) setTimeout(() => back(20), 50);
    };
    const heard = { beforeinput: typed, keydown: left };
    Object.entries(heard).forEach(([name, hear]) => document.addEventListener(name, hear, true));
    return () => Object.entries(heard).forEach(([name, hear]) => document.removeEventListener(name, hear, true));
}
