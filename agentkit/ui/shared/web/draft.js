let chat = null, area = null, told = "", timer = 0;
let put = "";  // the last text that was put into the box, whatever stood there
let begun = null;  // the chat whose beginning was seen
let typedIn = null;  // the chat in the address when something was typed last: the box may still be that of another one

const box = () => document.querySelector('[data-testid="stChatInputTextArea"]');
let tellNow = null;  // of the piece that is on the page
const tellFirst = () => timer && tellNow();  // half a second later the box may be gone, or that of another chat
document.addEventListener("click", ({ target }) => target.closest?.("a") && tellFirst(), true);
window.addEventListener("popstate", tellFirst);
const LEFT = "agentkit-typed";  // what was typed last when the page was left or loaded anew, before it could be told
const kept = () => { try { return sessionStorage; } catch { return null; } };  // a browser may forbid it
window.addEventListener("pagehide", () => {
    if (timer && box()) kept()?.setItem(LEFT, JSON.stringify({ chat: typedIn ?? chat, text: box().value }));
});
const takeLeft = (of) => {
    const left = JSON.parse(kept()?.getItem(LEFT) ?? null);
    if (left?.chat !== of) return null;
    kept().removeItem(LEFT);
    return left.text;
};
const opened = () => new URLSearchParams(location.search).get("chat") ?? "";

function start({ data, setTriggerValue }) {
    const tell = () => {
        clearTimeout(timer);
        timer = 0;
        const text = box()?.value, of = typedIn ?? chat;
        if (of === null || text === undefined || text === told) return;
        told = text;
        setTriggerValue("draft", { chat: of, text });
    };
    const soon = () => {
        clearTimeout(timer);
        timer = setTimeout(tell, 500);
    };
    const write = (text) => {
        if (area.value === text) return;
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, text);
        area.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const take = (found) => {
        const isNew = found !== area;  // then what stands there was typed before this was on the page
        const begins = data.begun && data.chat !== begun;
        const goesOn = found?.value && (isNew || begins || typedIn === data.chat);
        if (timer && !isNew && !goesOn) tell();  // of the chat before
        chat = typedIn = data.chat;
        area = found;
        told = data.draft;
        if (begins) begun = chat;
        const left = area && takeLeft(chat);
        if (area && !goesOn) write(left ?? data.draft);
        if (goesOn || left !== null) soon();
    };
    const show = (triesLeft) => {
        const found = box();
        if (!found && triesLeft) {
            waiting = setTimeout(() => show(triesLeft - 1), 100);
            return;
        }
        if (found && data.put && data.put !== put) {
            put = data.put;
            chat = typedIn = data.chat;
            area = found;
            told = null;  // so that what stands there now is told: then it need not be put again
            write(data.draft);
            soon();
            area.focus();
        } else if (data.chat !== chat || found !== area) take(found);
        else if (!timer) told = data.draft;
    };
    const typed = (event) => {
        if (event.target !== box()) return;
        if (event.target.value === "/" && event.data === "/") setTriggerValue("slash", String(Date.now()));
        if (event.target.value === told) return;
        typedIn = opened();
        soon();
    };
    tellNow = tell;
    let waiting = 0;
    show(50);
    document.addEventListener("input", typed, true);
    document.addEventListener("visibilitychange", tell);
    return () => {
        clearTimeout(waiting);
        document.removeEventListener("input", typed, true);
        document.removeEventListener("visibilitychange", tell);
    };
}
