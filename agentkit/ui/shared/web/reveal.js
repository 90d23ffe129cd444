// Brings a message into view once, and marks the words that were looked for, as far as the browser can.
let done = null;

const plain = (letter) => letter.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
// Where the terms stand in the texts of a part of the page.
const ranges = (part, terms) => {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {
        const node = walker.currentNode, places = [];
        let text = "";
        for (let at = 0; at < node.data.length; at++) {
            const letters = plain(node.data[at]);
            text += letters;
            for (let n = 0; n < letters.length; n++) places.push(at);
        }
        places.push(node.data.length);
        for (const term of terms) {
            for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
                const range = new Range();
                range.setStart(node, places[at]);
                range.setEnd(node, places[at + term.length]);
                found.push(range);
            }
        }
    }
    return found.sort((one, other) => one.compareBoundaryPoints(Range.START_TO_START, other));
};

function start({ data }) {
    if (!data.nonce || data.nonce === done) return () => {};
    const main = document.getElementById("stMain");
    let timer = 0;
    const look = (triesLeft, steady) => {
        const answer = main.querySelector(`.st-key-answer-${data.message}, .st-key-with-table-${data.message}`);
        const part = answer ?? main.querySelector(`.st-key-turn-${data.turn}`);
        const found = part ? ranges(part, data.terms) : [];
        // A page that is being drawn moves: it is brought into view until it stays there.
        if (part) {
            const box = (found[0] ?? part).getBoundingClientRect(), middle = main.getBoundingClientRect();
            const off = box.top - middle.top - (found[0] ? middle.height / 3 : 80);
            const before = main.scrollTop;
            main.scrollTop += off;
            steady = Math.abs(main.scrollTop - before) < 2 ? steady + 1 : 0;
            if (window.Highlight) CSS.highlights.set("found", new Highlight(...found));
        }
        if (triesLeft && steady < 5) timer = setTimeout(() => look(triesLeft - 1, steady), 100);
        else done = data.nonce;
    };
    const stop = () => clearTimeout(timer);
    const leave = () => { stop(); done = data.nonce; };  // who scrolls has seen enough
    const moves = ["wheel", "touchmove", "pointerdown"];
    moves.forEach((name) => document.addEventListener(name, leave, { capture: true, passive: true }));
    look(60, 0);
    return () => {
        stop();
        moves.forEach((name) => document.removeEventListener(name, leave, { capture: true }));
    };
}
