// What of the list is the browser's alone: which chats are selected, whose menu is open.
const states = new WeakMap();
const make = (tag, given = {}, ...children) => {
    const { attributes = {}, ...properties } = given;
    const node = Object.assign(document.createElement(tag), properties);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    node.append(...children);
    return node;
};
const button = (text, onclick, given = {}) => make("button", { type: "button", textContent: text, onclick, ...given });

export default function ({ data: [data], parentElement: root, setTriggerValue }) {
    if (!states.has(root)) states.set(root, { selected: new Set(), selecting: false, drawn: "", wanted: "", turned: 0 });
    const own = states.get(root), part = (name) => root.querySelector(name);
    root.host.dataset.leadsFocus = "";
    const [view, menu, list, toolbar] = ["select", ".menu", ".list", ".chosen"].map(part);
    const act = (name, ids = [], value = "") => {
        own.acted = !["rename", "new-folder"].includes(name);  // dialogs give the focus back
        setTriggerValue("act", { name, ids, value, at: name === "view" ? own.turned : Date.now() });
    };
    const rows = () => data.groups.flatMap((group) => group.chats);

    // The menu of one chat, or of all that are selected.
    const close = () => {
        if (menu.matches(":popover-open")) menu.hidePopover();
    };
    const item = (text, does) => button(text, () => {
        close();
        does();
    }, { attributes: { role: "menuitem" }, tabIndex: -1 });
    const folders = (ids, opener) => {
        const names = data.folders.map((name) => item(name, () => done("move", ids, name)));
        const out = item("No folder", () => done("move", ids, ""));
        show([item("New folder…", () => done("new-folder", ids)), ...names, out], opener);
    };
    const done = (name, ids, value) => {
        own.selected.clear();
        own.selecting = false;
        act(name, ids, value);
        draw();
    };
    const choices = (chat, opener) => {
        const ids = [chat.id], one = (text, name) => item(text, () => act(name, ids));
        if (data.shelf === "deleted") return [one("Bring back", "restore"), one("Delete for good", "erase")];
        const back = data.shelf === "archived" ? one("Bring back", "unarchive") : one("Archive", "archive");
        const pin = chat.pinned ? one("Unpin", "unpin") : one("Pin", "pin");
        const move = item("Move to a folder…", () => folders(ids, opener));
        return [one("Rename", "rename"), ...(data.shelf === "archived" ? [] : [pin]), move, back, one("Delete", "delete")];
    };
    const show = (items, opener) => {
        const { left, bottom, top } = opener.getBoundingClientRect();
        own.opener = opener;
        menu.replaceChildren(...items);
        menu.showPopover();
        const { width, height } = menu.getBoundingClientRect();
        menu.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
        menu.style.top = `${bottom + height < innerHeight ? bottom : Math.max(4, top - height)}px`;
        items[0].focus();
    };
    menu.onkeydown = (event) => {
        const items = [...menu.children], at = items.indexOf(root.activeElement ?? document.activeElement);
        const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        items.at(to % items.length).focus();
    };
    menu.ontoggle = (event) => {
        if (event.newState !== "closed") return;
        const key = own.opener?.closest(".row")?.className;
        if (own.drawn !== JSON.stringify(data)) draw();
        const again = [...list.querySelectorAll(".row")].find((one) => one.className === key);
        (again?.querySelector(".more button") ?? own.opener)?.focus({ preventScroll: true });
    };

    const row = (chat) => {
        const isCurrent = chat.id === data.current, isDeleted = data.shelf === "deleted";
        const mark = chat.mark ? [make("span", { className: `mark ${chat.mark}`, textContent: chat.mark === "waiting" ? "?" : "" })] : [];
        const told = chat.told ? [make("small", { textContent: ` ${chat.told.toLowerCase()}` })] : [];
        const folder = chat.folder && !data.folder ? [make("span", { className: "folder", textContent: chat.folder })] : [];
        const opens = make("button", {
            type: "button", className: own.selecting ? "open" : "open leads", title: chat.told ? `${chat.told}: ${chat.title}` : chat.title, disabled: isDeleted && !own.selecting,
            onclick: () => own.selecting ? toggle(chat.id) : act("open", [chat.id]),
        }, ...mark, make("span", { className: "title", textContent: chat.title }), ...told, ...folder);
        if (chat.told || folder.length) opens.setAttribute("aria-label", [chat.title, chat.told.toLowerCase()].join(" ").trim());
        if (isCurrent) opens.setAttribute("aria-current", "page");
        const check = own.selecting ? [make("input", {
            type: "checkbox", checked: own.selected.has(chat.id), onchange: () => toggle(chat.id), attributes: { "aria-label": `Select ${chat.title}` },
        })] : [];
        const more = button("⋯", ({ currentTarget }) => show(choices(chat, currentTarget), currentTarget), {
            title: "Pin, move, archive, delete…", attributes: { "aria-label": `Actions for ${chat.title}`, "aria-haspopup": "menu" },
        });
        const given = { className: `row st-key-chat-row-${chat.id}` };
        const made = make("div", given, ...check, opens, ...(own.selecting ? [] : [make("span", { className: `more st-key-chat-menu-${chat.id}` }, more)]));
        if (isCurrent) made.dataset.current = "";
        return made;
    };
    const toggle = (id) => {
        if (!own.selected.delete(id)) own.selected.add(id);
        draw();
    };

    const drawSelection = () => {
        const ids = rows().map((chat) => chat.id).filter((id) => own.selected.has(id));
        const some = (text, name) => button(text, () => done(name, ids), { className: "plain", disabled: ids.length === 0 });
        const move = button("Move…", ({ currentTarget }) => folders(ids, currentTarget), { className: "plain", disabled: ids.length === 0 });
        const all = button("All", () => {
            rows().forEach((chat) => own.selected.add(chat.id));
            draw();
        }, { className: "plain" });
        const ways = {
            open: [some("Archive", "archive"), move, some("Delete", "delete")],
            archived: [some("Bring back", "unarchive"), some("Delete", "delete")],
            deleted: [some("Bring back", "restore"), some("Delete for good", "erase")],
        };
        const told = make("span", { textContent: `${ids.length.toLocaleString("en")} selected` });
        toolbar.replaceChildren(told, all, ...ways[data.shelf]);
        toolbar.hidden = !own.selecting;
    };
    const drawHead = () => {
        const option = (value, text) => make("option", { value, textContent: text });
        const group = make("optgroup", { label: "Folders" }, ...data.folders.map((name) => option(`/${name}`, name)));
        const ends = [option("archived", "Archived"), option("deleted", "Deleted")];
        view.replaceChildren(option("open", "All chats"), ...(data.folders.length ? [group] : []), ...ends);
        if (data.turned >= own.turned) own.wanted = "";
        view.value = own.wanted || (data.folder ? `/${data.folder}` : data.shelf);
        view.onchange = () => {
            own.wanted = view.value;  // until its chats are there; those of a view turned to before it may come first
            own.turned = Date.now();
            done("view", [], view.value);
        };
        const choose = part(".choose");
        choose.textContent = own.selecting ? "Done" : "Select";
        choose.hidden = rows().length === 0;
        choose.onclick = () => {
            own.selecting = !own.selecting;
            own.selected.clear();
            draw();
        };
        const undo = data.undo ? [button("Undo", () => act("undo"), { className: "plain" })] : [];
        const note = data.note ? [
            make("span", { textContent: data.note }), ...undo,
            button("✕", () => act("dismiss"), { className: "plain", attributes: { "aria-label": "Close" } }),
        ] : [];
        part(".undo").replaceChildren(...note);
    };
    const draw = () => {
        if (menu.matches(":popover-open")) return;  // drawn when it closes
        const at = root.activeElement, key = at?.closest(".row")?.className, place = at && [".open", "input", ".more button"].find((one) => at.matches(one));
        const wasSelecting = !toolbar.hidden, tool = [...toolbar.children].indexOf(at);
        drawHead();
        drawSelection();
        const groups = data.groups.map((group) => make("section", {}, make("h2", { textContent: group.name }), ...group.chats.map(row)));
        const empty = data.empty ? [make("div", { className: "empty", textContent: data.empty })] : [];
        const more = data.left ? [button(`Show more (${data.left.toLocaleString("en")})`, () => act("more"), { className: "plain all" })] : [];
        list.replaceChildren(...groups, ...empty, ...more);
        if (key && wasSelecting === own.selecting) {
            [...list.querySelectorAll(".row")].find((one) => one.className === key)?.querySelector(place)?.focus({ preventScroll: true });
        }
        if (tool >= 0 && own.selecting) toolbar.children[tool].focus();
        // What had the focus may be gone, with a chat that was deleted or moved: what undoes it comes next.
        if (own.acted && own.drawn !== JSON.stringify(data)) {
            own.acted = false;
            if (!root.activeElement && document.activeElement === document.body) (part(".undo button") ?? view).focus({ preventScroll: true });
        }
        own.drawn = JSON.stringify(data);
    };
    list.onkeydown = (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step || !root.activeElement?.matches(".open")) return;
        event.preventDefault();
        const all = [...list.querySelectorAll(".open:not(:disabled)")];
        all[all.indexOf(root.activeElement) + step]?.focus();
    };
    const looked = () => {
        if (!document.hidden) setTriggerValue("look", Date.now());  // of its own: it must not take the place of a click
    };
    if (own.drawn !== JSON.stringify(data)) draw();
    document.addEventListener("visibilitychange", looked);
    window.addEventListener("focus", looked);
    own.forget?.();
    own.forget = () => {
        document.removeEventListener("visibilitychange", looked);
        window.removeEventListener("focus", looked);
    };
    return () => own.forget();
}
