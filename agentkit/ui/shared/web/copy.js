const copied = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");  // where the page did not come by https
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("refused");
};

export default function ({ data, parentElement }) {
    const button = parentElement.querySelector("button"), told = parentElement.querySelector("[role=status]");
    button.onclick = async () => {
        let said = "Copied";
        try { await copied(data.text); } catch { said = "Not copied: the browser does not allow it"; }
        button.focus();  // what was selected meanwhile had the focus
        told.textContent = said;
        setTimeout(() => { told.textContent = ""; }, 2000);
    };
}
