export default function ({ data, parentElement, setTriggerValue }) {
    const MARKS = { removed: "del", added: "ins" };
    const put = (parent, tag, text = "", name = "") => {
        const made = document.createElement(tag);
        if (name) made.className = name;
        made.textContent = text;
        parent.append(made);
        return made;
    };
    const putSide = (row, place, pieces, step) => {
        const side = put(row, "div", "", "side");
        side.dataset.of = data.sides[place].name;
        for (const [how, text] of pieces) {
            if (MARKS[how]) put(side, MARKS[how], text);
            else side.append(text);
        }
        if (step === null) return;
        const link = put(side, "a", `Step ${step} of ${data.sides[place].name}`);
        link.href = `?run=${encodeURIComponent(data.sides[place].run)}&step=${step}`;
        link.onclick = (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;  // in a tab of its own
            event.preventDefault();
            setTriggerValue("open", [data.sides[place].run, String(step)]);
        };
    };
    const putRow = (parent, { name, first, second, steps }) => {
        const row = put(parent, "div", "", name ? "row" : "row whole");
        if (name) put(row, "h4", name);
        putSide(row, 0, first, steps[0]);
        putSide(row, 1, second, steps[1]);
    };
    const root = parentElement.querySelector(".comparison");
    root.replaceChildren();
    for (const { name, told, differing, same, left } of data.groups) {
        const part = put(root, "section");
        put(put(part, "h3", name), "small", told);
        differing.forEach((row) => putRow(part, row));
        if (left) put(part, "p", left);
        if (!same.length) continue;
        const folded = put(part, "details");
        put(folded, "summary", `${same.length} the same in both`);
        folded.ontoggle = () => {  // what is folded is not there
            if (folded.open && folded.children.length === 1) same.forEach((row) => putRow(folded, row));
        };
    }
}
