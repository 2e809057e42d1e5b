// A worker that records: dedicated, shared, or one that starts another inside itself.

const answer = async (port, recording) => {
  try {
    const { record } = await import('/recorder.js');
    port.postMessage({ runId: await record(recording) });
  } catch (error) {
    port.postMessage({ error: String(error) });
  }
};

addEventListener('message', ({ data }) => {
  if (data.isNested !== true) {
    void answer(globalThis, data.recording);
    return;
  }
  const inner = new Worker('/worker.js', { type: 'module' });
  inner.addEventListener('message', (event) => postMessage(event.data));
  inner.postMessage({ recording: data.recording });
});

addEventListener('connect', ({ ports: [port] }) => {
  port.addEventListener('message', ({ data }) => void answer(port, data.recording));
  port.start();
});
