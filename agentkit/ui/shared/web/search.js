let opened = false, waiting = 0, sent = 0, at = 0, wanted = null, isHurried = false, drawn = null;

function start({ data: [data], parentElement: root, setTriggerValue }) {
    const [dialog, input, here, list, told] = ["dialog", ".field input", ".here", "#found", ".told"].map((name) => root.querySelector(name));
    const only = here.querySelector("input");
    const tell = (name, more) => setTriggerValue("told", { name, words: input.value, only: only.checked && !here.hidden, at: Date.now(), ...more });
    const ask = () => {
        sent += 1;
        waiting = 0;
        wanted = `${sent}`;
        at = 0;
        tell("ask", { asked: wanted });
    };
    const soon = () => {
        clearTimeout(waiting);
        isHurried = false;
        waiting = setTimeout(ask, 120);
    };
    const open = () => {
        if (dialog.open) return;
        const close = document.querySelector('[data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarCollapseButton"] button');
        if (innerWidth < 768) close?.click();  // there, the sidebar covers the page
        opened = true;
        here.hidden = data.here === "";
        only.checked = false;
        input.value = "";
        list.replaceChildren();
        told.textContent = "";
        dialog.showModal();
        input.focus();
        ask();
    };
    const go = (one) => {
        clearTimeout(waiting);
        dialog.close();
        tell("go", { chat: one.chat, message: one.message ?? "" });
    };

    const make = (tag, className, text) => Object.assign(document.createElement(tag), { className, textContent: text });
    const options = () => [...list.querySelectorAll(".one")];
    const select = (index, isMoved = true) => {
        const all = options();
        at = all.length ? (index + all.length) % all.length : 0;
        all.forEach((one, number) => one.setAttribute("aria-selected", number === at));
        input.setAttribute("aria-activedescendant", all[at]?.id ?? "");
        if (isMoved) all[at]?.scrollIntoView({ block: "nearest" });
    };
    const draw = () => {
        let number = 0;
        const groups = data.groups.flatMap((group) => [make("div", "kind", group.name), ...group.found.map((one) => {
            const option = make("div", "one", ""), name = make("div", "name", ""), said = make("div", "said", "");
            name.append(make("span", "", one.title), make("span", "when", one.when));
            said.append(...one.snippet.map(([text, isMarked]) => make(isMarked ? "mark" : "span", "", text)));
            option.append(name, ...(one.snippet.length ? [said] : []));
            option.id = `found-${number++}`;
            option.setAttribute("role", "option");
            option.onclick = () => go(one);
            option.onpointermove = () => select(options().indexOf(option), false);
            option.leads = () => go(one);
            return option;
        })]);
        list.replaceChildren(...groups);
        told.textContent = data.told;
        drawn = data.asked;
        here.hidden = data.here === "";
        select(at, false);
    };
    if (opened && data.asked === wanted && data.asked !== drawn) draw();
    if (opened && isHurried && data.asked === wanted && !waiting) {  // Enter came before what was found
        isHurried = false;
        options()[at]?.leads();
    }

    const pressed = (event) => {
        if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
            event.preventDefault();
            event.stopPropagation();
            if (dialog.open) dialog.close();
            else open();
        }
    };
    dialog.onkeydown = (event) => {
        event.stopPropagation();  // the page has keys of its own
        if (event.isComposing || root.activeElement !== input) return;
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step) {
            event.preventDefault();
            select(at + step);
        } else if (event.key === "Enter") {
            event.preventDefault();
            if (data.asked === wanted && !waiting) options()[at]?.leads();
            else isHurried = true;
        }
    };
    dialog.onclose = () => {
        opened = false;
        list.replaceChildren();
    };
    dialog.onclick = (event) => {
        if (event.target === dialog) dialog.close();  // beside it
    };
    input.oninput = soon;
    only.onchange = () => {
        input.focus();
        ask();
    };
    root.querySelector(".close").onclick = () => dialog.close();
    window.addEventListener("open-search", open);
    window.addEventListener("keydown", pressed, true);
    return () => {
        window.removeEventListener("open-search", open);
        window.removeEventListener("keydown", pressed, true);
    };
}
