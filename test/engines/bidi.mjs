// The little of WebDriver BiDi that the tests of engines need: commands to Firefox over one WebSocket.

/** Connects to a Firefox that was started with `--remote-debugging-port`, and begins its session. */
export async function connectBidi(address) {
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(new Error(`No connection to ${address}.`)), {
      once: true,
    });
  });
  const waiting = new Map();
  let next = 0;
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(data);
    const waiter = waiting.get(answer.id);
    if (waiter === undefined) return;
    waiting.delete(answer.id);
    if (answer.type === 'success') waiter.resolve(answer.result);
    else waiter.reject(new Error(`${answer.error}: ${answer.message}`));
  });
  socket.addEventListener('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('The browser has ended.'));
    waiting.clear();
  });
  const send = (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, method, params }));
    });
  const { capabilities } = await send('session.new', { capabilities: {} });
  return { send, capabilities, close: () => socket.close() };
}
