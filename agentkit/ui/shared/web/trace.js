// A run as a tree with its waterfall: only the rows in sight are in the page, however many there are.
const ROW = 28, TALL = 50, NARROW = 480, BEYOND = 8, MOST_PARTS = 400;
const [SEQ, DEPTH, KIND, NAME, LANE, START, SECONDS, STATUS, TOLD, CRITICAL, INSIDE, FOUND] = Array(12).keys();

const add = (parent, tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text) made.textContent = text;
    parent.append(made);
    return made;
};

const ticks = (seconds) => [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = seconds * part;
    if (seconds < 1) return `${Math.round(1000 * at)} ms`;
    return at >= 120 ? `${Math.round(at / 60)} min` : `${at.toFixed(seconds < 10 ? 1 : 0)} s`;
});

// Which rows are shown: those of the chosen lane or those found, with what they are in, else all that is unfolded.
function shown({ rows, searched }, { closed, lane }) {
    const found = new Set(), way = [];
    let folded = Infinity;
    rows.forEach((row, place) => {
        way.length = row[DEPTH];
        way.push(place);
        if (searched || lane !== null) {
            const fits = (!searched || row[FOUND]) && (lane === null || row[LANE] === lane);
            if (fits) way.forEach((one) => found.add(one));
            return;
        }
        if (row[DEPTH] > folded) return;
        folded = closed.has(row[SEQ]) ? row[DEPTH] : Infinity;
        found.add(place);
    });
    return [...found];
}

function drawLanes(box, data, known, changed) {
    const total = data.seconds || 1;
    box.replaceChildren(...data.lanes.map((name, lane) => {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.lane = lane % 8;
        button.setAttribute("aria-pressed", String(known.lane === lane));
        button.title = `Only steps of ${name}`;
        add(button, "span", "", name);
        const strip = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        strip.setAttribute("viewBox", `0 0 ${MOST_PARTS} 1`);
        strip.setAttribute("preserveAspectRatio", "none");
        strip.setAttribute("aria-hidden", "true");
        let end = -1, parts = "";
        for (const row of data.rows) {
            if (row[LANE] !== lane || row[INSIDE]) continue;
            const from = Math.max(end, Math.floor(row[START] / total * MOST_PARTS));
            const to = Math.min(MOST_PARTS, Math.max(from + 1, Math.ceil((row[START] + row[SECONDS]) / total * MOST_PARTS)));
            if (from >= MOST_PARTS || to <= end) continue;
            parts += `M${from} 0H${to}V1H${from}Z`;
            end = to;
        }
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", parts);
        strip.append(path);
        button.append(strip);
        button.onclick = () => {
            known.lane = known.lane === lane ? null : lane;
            changed();
        };
        return button;
    }));
}

// A row is made once, and written anew for whatever comes into sight.
function makeRow() {
    const made = document.createElement("div"), tree = add(made, "div", "tree"), time = add(made, "div", "time");
    made.setAttribute("role", "treeitem");
    made.parts = {
        tree, fold: add(tree, "i"), who: add(tree, "span", "who"), kind: add(tree, "b"), name: add(tree, "em"),
        bar: add(time, "div", "bar"), told: add(time, "span"),
    };
    made.written = {};
    return made;
}

function writeRow(made, data, known, place, nth, size, height) {
    const row = data.rows[place], total = data.seconds || 1, { tree, fold, who, kind, name, bar, told } = made.parts;
    const className = ["row", row[STATUS] === "failed" && "failed", row[STATUS] === "open" && "unended", row[CRITICAL] && "critical",
        row[FOUND] && "found", row[SEQ] === data.open && "open", place === known.active && "active"].filter(Boolean).join(" ");
    const agent = row[LANE] >= 0 ? data.lanes[row[LANE]] : "";
    const label = [row[KIND], row[NAME], agent, row[TOLD], row[CRITICAL] ? "on the critical path" : ""].filter(Boolean).join(", ");
    const facts = { id: `step-${row[SEQ]}`, class: className, style: `transform:translateY(${nth * height}px);height:${height}px`,
        "data-lane": row[LANE] < 0 ? "" : row[LANE] % 8, "aria-label": label, "aria-level": row[DEPTH] + 1, "aria-posinset": nth + 1,
        "aria-setsize": size, "aria-selected": row[SEQ] === data.open };
    for (const [key, value] of Object.entries(facts)) {  // most of a row is as in the one that it was
        if (made.written[key] !== value) made.setAttribute(key, made.written[key] = value);
    }
    const closed = known.closed.has(row[SEQ]);
    if (row[INSIDE]) made.setAttribute("aria-expanded", !closed);
    else made.removeAttribute("aria-expanded");

    tree.style.paddingLeft = `${Math.min(row[DEPTH], 8) * 0.75}rem`;
    fold.className = row[INSIDE] ? "fold" : "";
    fold.textContent = row[INSIDE] ? (closed ? "▸" : "▾") : "";
    who.title = agent;
    kind.textContent = row[KIND];
    name.textContent = name.title = row[NAME];
    const left = row[START] / total * 100, width = Math.min(100 - left, row[SECONDS] / total * 100);
    bar.style.cssText = `left:min(${left}%, 100% - 2px);width:${width}%`;
    told.textContent = row[TOLD];
    told.className = left + width >= 60 && left <= 40 ? "told over" : "told";
    if (left + width < 60) told.style.cssText = `left:calc(${left + width}% + 0.4rem)`;
    else if (left > 40) told.style.cssText = `right:calc(${100 - left}% + 0.4rem)`;
    else told.style.cssText = `left:calc(${left}% + 0.4rem)`;
}

export default function ({ data, parentElement, setTriggerValue }) {
    const root = parentElement.querySelector(".trace"), steps = root.querySelector(".steps"), all = root.querySelector(".all");
    const before = root.known?.run === data.run ? root.known : null;
    const known = before ?? { run: data.run, closed: new Set(), lane: null, active: 0, opened: null };
    root.known = known;
    let places = [];
    const height = () => root.classList.contains("narrow") ? TALL : ROW;
    // What stays in sight is not touched while one scrolls; rows that went out of it are those that come in.
    const draw = (anew = true) => {
        const row = height(), first = Math.max(0, Math.floor(steps.scrollTop / row) - BEYOND);
        const last = Math.min(places.length, Math.ceil((steps.scrollTop + steps.clientHeight) / row) + BEYOND);
        const drawn = new Map([...all.children].map((made) => [made.nth, made]));
        const spare = [...drawn].filter(([nth]) => anew || nth < first || nth >= last).map(([nth, made]) => { drawn.delete(nth); return made; });
        let next = null;
        for (let nth = last - 1; nth >= first; nth--) {  // from below, so that each stands before the one after it
            let made = drawn.get(nth);
            if (!made) {
                made = spare.pop() ?? makeRow();
                made.nth = nth;
                writeRow(made, data, known, places[nth], nth, places.length, row);
                if (made.nextSibling !== next || !made.parentNode) all.insertBefore(made, next);
            }
            next = made;
        }
        spare.forEach((made) => made.remove());
        if (!anew) return;
        steps.setAttribute("aria-activedescendant", `step-${data.rows[known.active]?.[SEQ]}`);
    };
    const show = () => {  // the active row is brought into sight
        const row = height(), top = places.indexOf(known.active) * row;
        if (top < 0) return;
        if (top < steps.scrollTop) steps.scrollTop = top;
        else if (top + row > steps.scrollTop + steps.clientHeight) steps.scrollTop = top + row - steps.clientHeight;
    };
    const size = () => { all.style.height = `${places.length * height()}px`; };
    const arrange = () => {
        places = shown(data, known);
        if (!places.includes(known.active)) known.active = places[0] ?? 0;
        drawLanes(root.querySelector(".lanes"), data, known, changed);
        size();
    };
    const changed = () => {
        arrange();
        draw();
    };
    const fold = (place, closing) => {
        if (!data.rows[place][INSIDE]) return;
        known.closed[closing ? "add" : "delete"](data.rows[place][SEQ]);
        changed();
    };
    const move = (to) => {
        known.active = places[Math.max(0, Math.min(places.length - 1, to))] ?? known.active;
        show();
        draw();
    };
    const open = () => setTriggerValue("step", String(data.rows[known.active][SEQ]));
    const at = () => places.indexOf(known.active), page = () => Math.max(1, Math.floor(steps.clientHeight / height()) - 1);
    const keys = {
        ArrowDown: () => move(at() + 1), ArrowUp: () => move(at() - 1), Home: () => move(0), End: () => move(places.length - 1),
        PageDown: () => move(at() + page()), PageUp: () => move(at() - page()), Enter: open, " ": open,
        ArrowLeft: () => fold(known.active, true), ArrowRight: () => fold(known.active, false),
        Escape: () => { if (data.open !== null) setTriggerValue("step", "close"); },
    };
    steps.onkeydown = (event) => {
        if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        keys[event.key]();
    };
    steps.onclick = (event) => {
        const row = event.target.closest(".row");
        if (!row) return;
        known.active = data.rows.findIndex((one) => `step-${one[SEQ]}` === row.id);
        if (event.target.closest(".fold")) fold(known.active, !known.closed.has(data.rows[known.active][SEQ]));
        else { draw(); open(); }
    };
    let waits = false;
    steps.onscroll = () => {
        if (waits) return;
        waits = true;
        requestAnimationFrame(() => { waits = false; draw(false); });
    };
    root.querySelector(".axis div").replaceChildren(...ticks(data.seconds).map((text) => Object.assign(document.createElement("span"), { textContent: text })));
    if (data.open !== null && data.open !== known.opened) known.active = Math.max(0, data.rows.findIndex((row) => row[SEQ] === data.open));
    const isNew = data.open !== known.opened;
    known.opened = data.open;
    const isNarrow = () => root.clientWidth > 0 && root.clientWidth < NARROW;
    const fit = () => {
        const other = root.classList.contains("narrow") !== isNarrow();
        root.classList.toggle("narrow", isNarrow());
        if (other) size();
        draw(other);
    };
    root.classList.toggle("narrow", isNarrow());
    arrange();
    if (isNew) show();
    draw();
    if (isNew) {
        const detail = document.querySelector(".st-key-step");  // below the steps, on a narrow page
        if (before && data.open !== null && root.classList.contains("narrow")) detail?.scrollIntoView({ behavior: "smooth" });
    }
    const sized = new ResizeObserver(fit);
    sized.observe(root);
    return () => sized.disconnect();
}
