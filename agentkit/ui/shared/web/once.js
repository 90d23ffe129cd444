// The browser calls a piece again for new data, and cleans up after the last of these calls alone.
let undo = () => {};
export default (given) => {
    undo();
    undo = start(given);
    return undo;
};
