let chat = null, answering = false, following = false, lastTop = 0, isMoving = false, movedAt = -1e9;
let version = null;  // the class of the button that led to another version of a turn
let opener = null, wanted = "", open = false, held = null;  // of the source that is beside an answer

const bare = (link) => link.getAttribute("href").slice("#cite-".length).replace(/\?$/, "");
const twins = (target) => [...document.querySelectorAll('a[href^="#cite-"]')].filter((link) => bare(link) === target);
const source = () => document.querySelector(".st-key-source");
const chips = (answer) => [...document.querySelectorAll(`[class*="st-key-sources-${answer}-"] button`)];
const numberOn = (chip) => chip.textContent.match(/\d+/)[0];
// Both are drawn anew by some runs of the script.
const again = ({ target, nth, answer, number }) =>
    answer ? chips(answer).find((chip) => numberOn(chip) === number) : twins(target)[nth];
const found = (place) => !place || place.node?.isConnected ? place?.node : again(place);
const inView = (part, main) => {
    const { top, bottom } = part.getBoundingClientRect();
    return bottom > main.getBoundingClientRect().top + 60 && top < main.getBoundingClientRect().bottom;
};
const firstInView = (parts, main) =>
    [...main.querySelectorAll(parts)].find((part) => inView(part, main));

const WAYS = '[class*="st-key-older-"], [class*="st-key-newer-"]';
// Whoever goes from version to version keeps the focus on the button, or at the last one on the one that leads back.
const wayOn = (from) => {
    const back = from.replace(/st-key-(older|newer)/, (key) => key === "st-key-older" ? "st-key-newer" : "st-key-older");
    return document.querySelector(`.${from} button:enabled`) ?? document.querySelector(`.${back} button:enabled`);
};
const LINES = '[class*="st-key-turn-"] :is(p, li, tr, pre)';
// A line of a turn that is found again by its text: the end of an answer draws it anew.
const lineAgain = (part, main) => {
    const alike = () => [...main.querySelectorAll(LINES)].filter((line) => line.textContent === text);
    const text = part.textContent, nth = alike().indexOf(part);
    return () => part.isConnected ? part : (part = alike()[nth] ?? part).isConnected ? part : null;
};
const BACK = new Set(["ArrowUp", "PageUp", "Home"]), FORTH = new Set(["ArrowDown", "PageDown", "End", " ", "Tab"]);
// A page that moves between the press and its end would let it miss what is pressed. Kept here, as a drawing may come in between.
let isPressing = false;
for (const name of ["pointerdown", "pointerup", "pointercancel", "contextmenu"]) {  // a menu may keep the release to itself
    document.addEventListener(name, () => { isPressing = name === "pointerdown"; }, { capture: true, passive: true });
}
// Tab leads either way: by where the page went, it is seen whether somebody went up.
const isTyping = (part) => part instanceof Element && part.closest("input, textarea, select, [contenteditable]") !== null;

function start({ data, setTriggerValue, parentElement }) {
    const main = document.getElementById("stMain"), jump = parentElement.querySelector("button");
    const below = () => main.scrollHeight - main.scrollTop - main.clientHeight;  // in pixels
    const offer = () => {
        const foot = document.querySelector('[data-testid="stBottom"]');
        jump.style.bottom = `${(foot?.offsetHeight ?? 0) + 12}px`;
        jump.hidden = !data.answering || following || below() < 100;
    };
    const toEnd = () => {
        if (following && main.scrollTop < lastTop) scrolled();  // where somebody went up, and it is not told yet
        if (following && !isPressing && below() >= 1) main.scrollTo({ top: main.scrollHeight });
        offer();
    };
    const isFirst = chat === null, begins = data.chat !== chat;
    if (begins || (data.answering && !answering)) {
        following = data.chat !== "" && !(begins && data.hit) && (!isFirst || main.scrollTop === 0);  // else somebody was faster and reads already
        held = null;
    }
    chat = data.chat;
    answering = data.answering;
    const timers = [0, 200].map((delay) => setTimeout(toEnd, delay));
    let height = 0, grownAt = performance.now(), settling;
    const settle = () => {  // until the end of the answer has been shown, however slowly it is drawn
        toEnd();
        if (main.scrollHeight !== height) grownAt = performance.now();
        else if (performance.now() - grownAt > 1000) following = false;
        height = main.scrollHeight;
        if (following) settling = setTimeout(settle, 200);
    };
    if (data.answering) timers.push(setInterval(toEnd, 100));
    else settling = setTimeout(settle, 400);
    // What was drawn for a new address may have been lost on its way: then it is asked for again, ever more patiently.
    let patience = 3000, before = null;
    const arrive = () => {
        const named = new URLSearchParams(location.search).get("chat") ?? "";
        if (named !== data.address && named === before) {
            setTriggerValue("astray", Date.now());
            patience *= 2;
        }
        before = named;
        arriving = setTimeout(arrive, patience);
    };
    let arriving = setTimeout(arrive, patience);
    // What grows or is drawn anew moves the page, too: only a person ends the following, or begins it again.
    const scrolled = () => {
        const up = main.scrollTop < lastTop;
        lastTop = main.scrollTop;
        if ((isMoving || performance.now() - movedAt < 1000) && (data.answering || following)) {
            following = up ? false : following || below() < 100;
            const read = following ? null : firstInView(LINES, main);
            held = read ? { find: lineAgain(read, main), top: read.getBoundingClientRect().top } : null;
        }
        offer();
    };
    const moved = (event) => {
        const key = isTyping(event.target) && event.key !== "Tab" ? "" : event.key;
        const byKey = BACK.has(key) || FORTH.has(key), byBar = event.type === "pointerdown" && event.target === main;
        if (!byKey && !byBar && event.type !== "wheel" && event.type !== "touchmove") return;
        isMoving = true;  // until a frame has shown it, however busy the browser is
        requestAnimationFrame(() => {
            isMoving = false;
            movedAt = performance.now();
        });
        if ((event.deltaY < 0 || BACK.has(key)) && main.scrollTop > 0) following = false;
    };
    jump.onclick = () => {
        lastTop = main.scrollTop;
        following = true;
        toEnd();
    };

    // What the reader looks at stays where it is, until the reader moves.
    const hold = (find) => {
        const part = find();
        following = false;
        held = part ? { find, top: part.getBoundingClientRect().top } : null;
    };
    const letGo = () => { held = version = null; };
    const keep = () => {
        const part = held?.find();
        const moved = part ? part.getBoundingClientRect().top - held.top : 0;
        if (Math.abs(moved) >= 1) main.scrollTop += moved;
    };

    const cite = (target, nth) => {
        opener = { node: twins(target)[nth], target, nth };
        wanted = target;
        hold(() => found(opener));
        setTriggerValue("cite", `${target}.${nth}`);
    };
    const clicked = (event) => {
        if (!(event.target instanceof Element)) return;
        const link = event.target.closest('a[href^="#cite-"]');
        const chip = event.target.closest('[class*="st-key-sources-"] button');
        if (link) {
            event.preventDefault();
            const target = bare(link);
            cite(target, twins(target).indexOf(link));
        } else if (chip) {
            const answer = chip.closest('[class*="st-key-sources-"]').className.match(/st-key-sources-(\w+)/)[1];
            const number = numberOn(chip), target = `${answer}-${number}`;
            opener = { node: chip, target, answer, number };
            wanted = chip.getAttribute("aria-checked") === "true" ? "" : target;
            hold(() => found(opener));
        } else if (event.target.closest(".st-key-close-source")) {
            const line = found(opener);
            const read = line && inView(line, main) ? line : firstInView(LINES, main);
            hold(() => read?.isConnected ? read : null);
        } else if (event.target.closest(WAYS)) {
            version = event.target.closest(WAYS).className.match(/st-key-(older|newer)-\S+/)[0];
            const row = version;
            hold(() => document.querySelector(`.${row}`));
        } else if (event.target.closest(".st-key-earlier")) {
            const turn = firstInView('[class*="st-key-turn-"]', main)?.className.match(/st-key-turn-\S+/)[0];
            hold(() => turn && document.querySelector(`.${turn}`));
        }
    };
    const pressed = (event) => {
        letGo();
        const shown = source(), at = document.activeElement;
        if (event.key !== "Escape" || !shown || document.querySelector('[aria-label^="Close fullscreen"]')) return;
        if (at === document.body || shown.contains(at) || at === found(opener) || at?.matches('[href^="#cite-"]')) {
            shown.querySelector(".st-key-close-source button").click();
        }
    };
    const changed = () => {
        keep();
        const shown = source();
        if (shown && wanted && shown.querySelector(`.st-key-text-${wanted}`)) {
            wanted = "";
            shown.tabIndex = -1;
            shown.setAttribute("role", "region");
            shown.setAttribute("aria-label", "Source");
            shown.focus({ preventScroll: true });
        }
        // A button that can no longer be pressed keeps the focus for a moment, and then nothing has it.
        const at = document.activeElement, isLost = at === document.body || at?.disabled === true;
        const way = at?.closest(WAYS);  // pressed, maybe, before anybody listened to it
        if (way && !isLost) version = way.className.match(/st-key-(older|newer)-\S+/)[0];
        if (version && isLost) wayOn(version)?.focus({ preventScroll: true });
        if (!shown && open && document.activeElement === document.body) found(opener)?.focus({ preventScroll: true });
        open = shown !== null;
    };
    const watch = new MutationObserver(changed), sizes = new ResizeObserver(keep);
    watch.observe(main, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    sizes.observe(main.querySelector('[data-testid="stMainBlockContainer"]') ?? main);
    changed();

    if (location.hash.startsWith("#cite-")) {  // clicked before this was on the page
        const target = location.hash.slice("#cite-".length).replace(/\?$/, "");
        history.replaceState(history.state, "", location.pathname + location.search);
        cite(target, Math.max(0, twins(target).indexOf(document.activeElement)));
    }
    const moves = ["wheel", "touchmove", "pointerdown"], looks = [...moves, "keydown"];
    moves.forEach((name) => document.addEventListener(name, letGo, { capture: true, passive: true }));
    looks.forEach((name) => document.addEventListener(name, moved, { capture: true, passive: true }));
    main.addEventListener("scroll", scrolled);
    document.addEventListener("click", clicked, true);
    document.addEventListener("keydown", pressed, true);
    return () => {
        timers.forEach(clearTimeout);
        clearTimeout(settling);
        clearTimeout(arriving);
        watch.disconnect();
        sizes.disconnect();
        moves.forEach((name) => document.removeEventListener(name, letGo, { capture: true }));
        looks.forEach((name) => document.removeEventListener(name, moved, { capture: true }));
        main.removeEventListener("scroll", scrolled);
        document.removeEventListener("click", clicked, true);
        document.removeEventListener("keydown", pressed, true);
    };
}
