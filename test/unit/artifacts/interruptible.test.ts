import { expect, test } from 'vitest';
import { createMemoryStore } from 'quark-sdk';
import { interruptible, MAX_PAUSE_MS } from '../../../src/instruments/artifacts/interruptible.ts';
import { putPayload } from '../../../src/instruments/artifacts/parts.ts';
import { TestClock } from '../../support/clock.ts';

/** Pieces that a test hands out one by one. */
function controlled(): {
  readonly stream: ReadableStream<Uint8Array>;
  readonly give: (byte: number) => void;
  readonly end: () => void;
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) });
  return {
    stream,
    give: (byte) => controller?.enqueue(Uint8Array.of(byte)),
    end: () => controller?.close(),
  };
}

async function turns(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('a stream that goes on after the interruption is kept whole', async () => {
  const clock = new TestClock();
  const abort = new AbortController();
  const { stream, give, end } = controlled();
  const store = createMemoryStore();
  const keeping = putPayload(store, interruptible(stream, abort.signal, clock), 1024);
  clock.advance(10 * MAX_PAUSE_MS); // without an interruption a stream may take its time
  give(1);
  await turns();
  abort.abort();
  for (let byte = 2; byte < 6; byte++) {
    clock.advance(MAX_PAUSE_MS - 1);
    give(byte);
    await turns();
  }
  end();
  const { sha256, sizeBytes } = await keeping;
  expect(sizeBytes).toBe(5);
  expect(await store.getBlob(sha256)).toEqual(Uint8Array.of(1, 2, 3, 4, 5));
  await store.close();
});

test('one that stops coming is given up on', async () => {
  const clock = new TestClock();
  const abort = new AbortController();
  const { stream, give } = controlled();
  const chunks = interruptible(stream, abort.signal, clock);
  give(1);
  expect(await chunks.next()).toEqual({ done: false, value: Uint8Array.of(1) });
  const next = chunks.next();
  abort.abort(new Error('SIGINT'));
  clock.advance(MAX_PAUSE_MS);
  await expect(next).rejects.toMatchObject({ code: 'aborted' });
});

test('a reader that stops early ends the stream', async () => {
  let isEnded = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Uint8Array.of(1);
    } finally {
      isEnded = true;
    }
  }
  for await (const chunk of interruptible(
    endless(),
    new AbortController().signal,
    new TestClock(),
  )) {
    expect(chunk).toEqual(Uint8Array.of(1));
    break;
  }
  await turns();
  expect(isEnded).toBe(true);
});
