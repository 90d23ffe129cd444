export default function ({ data, parentElement, setTriggerValue }) {
    const put = (parent, tag, text, name = "") => {
        const made = document.createElement(tag);
        if (name) made.className = name;
        made.textContent = text;
        parent.append(made);
        return made;
    };
    const head = parentElement.querySelector("thead tr"), body = parentElement.querySelector("tbody");
    parentElement.querySelector("table").setAttribute("aria-label", data.label);
    head.replaceChildren();
    for (const [name, kind] of data.columns) put(head, "th", name, kind).scope = "col";
    body.replaceChildren(...data.rows.map(({ id, href, cells, below, bad, chosen }) => {
        const row = document.createElement("tr");
        cells.forEach((text, n) => {
            const cell = put(row, "td", n ? text : "", data.columns[n][1]);
            cell.dataset.of = data.columns[n][0];
            if (n === bad) cell.classList.add("bad");
            if (n) return;
            const box = put(cell, "input", "");
            box.type = "checkbox";
            box.checked = chosen;
            box.setAttribute("aria-label", `Compare ${text}`);
            box.title = "Compare";
            box.onchange = () => setTriggerValue("choose", id);
            const link = put(cell, "a", text);
            link.href = href;
            link.onclick = (event) => {
                if (event.ctrlKey || event.metaKey || event.shiftKey) return;  // in a tab of its own
                event.preventDefault();
                setTriggerValue("open", id);
            };
            if (below) put(cell, "small", below);
        });
        return row;
    }));
}
