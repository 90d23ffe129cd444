// The browser calls a piece again for new data, and cleans up after the last of these calls alone.
let undo = () => {};
export default (given) => {
    undo();
    undo = start(given);
    given.parentElement.host.dataset.listens = "";  // until then, what is pressed is not heard
    return undo;
};
