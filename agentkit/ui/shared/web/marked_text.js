export default function ({ data, parentElement }) {
    const block = parentElement.querySelector(".text");
    block.replaceChildren(...data.parts.map(([text, kind]) => {
        const part = document.createElement(kind ? "mark" : "span");
        part.className = kind;
        part.textContent = text;
        return part;
    }));
    const first = block.querySelector("mark.sentence") ?? block.querySelector("mark");
    if (first) block.scrollTop = Math.max(0, first.offsetTop - block.offsetTop - 48);
}
