const AREA = ".st-key-sql-text textarea", MOST = 8;

const begun = (area) => /[A-Za-z_][\w.]*$/.exec(area.value.slice(0, area.selectionStart))?.[0].toLowerCase() ?? "";

function fitting(area, views) {
    const [start, ...before] = begun(area).split(".").reverse();
    if (!start && !before.length) return [];
    const text = area.value.toLowerCase();
    const named = Object.keys(views).filter((view) => new RegExp(`\\b${view}\\b`).test(text));
    const chosen = before.filter((view) => view in views);
    const read = [chosen, named, Object.keys(views)].find((some) => some.length);
    const columns = read.flatMap((view) => views[view]);
    const known = new Set(before.length ? columns : [...Object.keys(views), ...columns]);
    return [...known].filter((name) => name.startsWith(start) && name !== start).slice(0, MOST);
}

function put(area, name) {
    const at = area.selectionStart, from = at - begun(area).split(".").pop().length;
    const text = area.value.slice(0, from) + name + area.value.slice(at);
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, text);
    area.focus();
    area.setSelectionRange(from + name.length, from + name.length);
    area.dispatchEvent(new Event("input", { bubbles: true }));
}

export default function ({ data, parentElement }) {
    const row = parentElement.querySelector("[role=group]"), hint = parentElement.querySelector("p");
    const draw = (names) => {
        const area = document.querySelector(AREA);
        row.replaceChildren(...names.map((name) => {
            const button = document.createElement("button");
            button.type = "button";
            button.textContent = name;
            button.onpointerdown = (event) => event.preventDefault();  // the box keeps the focus, and what it says
            button.onclick = () => put(area, name);
            return button;
        }));
        hint.textContent = names.length ? data.key : data.hint;
    };
    const typed = (event) => {
        if (event.target.matches?.(AREA)) draw(fitting(event.target, data.views));
    };
    const pressed = (event) => {
        const first = row.firstElementChild?.textContent;
        if (!event.target.matches?.(AREA) || !first || event.shiftKey) return;
        if (event.key === "Escape") draw([]);
        else if (event.key === "Tab") put(event.target, first);
        else return;
        event.preventDefault();
    };
    if (!row.childElementCount) draw([]);
    document.addEventListener("input", typed, true);
    document.addEventListener("keydown", pressed, true);
    return () => {
        document.removeEventListener("input", typed, true);
        document.removeEventListener("keydown", pressed, true);
    };
}
