let isOut = false;

// The server gives charts and graphs their colours: they are drawn anew when the page turns dark or light. A dialog would be
// gone until it is drawn again, so then the drawing that follows its closing does that.
function watchGround(turned) {
    const app = document.querySelector(".stApp"), read = () => getComputedStyle(app).colorScheme;
    let ground = read();
    const observer = new MutationObserver(() => {
        if (read() === ground) return;
        ground = read();
        if (!document.querySelector('[data-testid="stDialog"]')) turned();
    });
    observer.observe(app, { attributes: true, attributeFilter: ["class"] });
    return () => observer.disconnect();
}

function start({ data, setTriggerValue }) {
    const foreign = /Streamlit|yourscript/;
    const reword = (dialog) => {
        if (!foreign.test(dialog.textContent)) return;
        for (const block of dialog.querySelectorAll("pre")) {  // a command of no use here
            (block.closest('[data-testid="stErrorCodeBlock"]') ?? block).style.display = "none";
        }
        const texts = document.createTreeWalker(dialog, NodeFilter.SHOW_TEXT);
        let told = false;
        while (texts.nextNode()) {
            const text = texts.currentNode;
            if (text.parentElement.closest("pre")) continue;
            if (text.data === "Connection error") text.data = data.title;
            else if (foreign.test(text.data)) {
                text.data = told ? "" : data.text;
                told = true;
            }
        }
    };
    const look = () => {
        const dialogs = [...document.querySelectorAll('[role="dialog"]')];
        dialogs.forEach(reword);
        const wasOut = isOut;
        isOut = dialogs.some((dialog) => dialog.textContent.includes(data.title));
        if (wasOut && !isOut) setTriggerValue("back", Date.now());  // a new server knows nothing of what is on the page
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { childList: true, characterData: true, subtree: true });
    const unwatch = watchGround(() => setTriggerValue("back", Date.now()));
    return () => {
        observer.disconnect();
        unwatch();
    };
}
