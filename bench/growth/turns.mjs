/** A turn of the event loop. */
export const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
