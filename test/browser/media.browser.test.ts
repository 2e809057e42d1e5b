/** What pages and workers print, and media, in a real page. */
import { expect, test } from 'vitest';
import { createMemoryStore, openRun, startRun, type TrainingSession } from 'quark-sdk';
import { captureConsole, readConsole } from 'quark-sdk/console';
import { loadMedia, MediaLogger, readMedia, readRunCode } from 'quark-sdk/media';

const start = (): Promise<TrainingSession> =>
  startRun({ project: 'page', storage: createMemoryStore(), strictMode: true });

test('console of a page is recorded with levels, and restored', async () => {
  const session = await start();
  const { error, log } = console;
  const nothing: string[] = [];
  const capture = captureConsole(session);
  console.log('loss %d of %s', 3, 'run', { a: [1, 2] });
  console.warn('%cstyled', 'color: red');
  console.error(new TypeError('wrong'));
  console.assert(nothing.length === 0, 'not printed');
  console.table([{ a: 1 }]);
  await capture.stop();
  expect(console.log).toBe(log);
  expect(console.error).toBe(error);
  await session.endRun();
  const { lines } = await readConsole(await openRun(session.store, session.runId));
  expect(lines.map(({ level, source }) => [source, level])).toContainEqual(['console', 'warn']);
  const texts = lines.map(({ text }) => text);
  expect(texts).toContain('loss 3 of run { a: [1, 2] }');
  expect(texts).toContain('styled');
  expect(texts.join('\n')).toContain('TypeError: wrong');
  expect(texts.join('\n')).not.toContain('not printed');
});

test('a worker sends what it prints to the page', async () => {
  const session = await start();
  const code = `
    const { forwardConsole } = await import(${JSON.stringify(new URL('/src/console.ts', location.href).href)});
    const stop = forwardConsole(globalThis);
    console.info('from the worker');
    stop();`;
  const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  const worker = new Worker(url, { type: 'module' });
  const capture = captureConsole(session, { own: false, from: [worker] });
  await expect.poll(() => capture.status.lines).toBe(1);
  await capture.stop();
  worker.terminate();
  URL.revokeObjectURL(url);
  const { lines } = await readConsole({ store: session.store, runId: session.runId });
  expect(lines).toMatchObject([{ source: 'console', level: 'info', text: 'from the worker' }]);
});

test('images are PNG files that the page decodes to the same pixels', async () => {
  const session = await start();
  const media = new MediaLogger(session);
  const data = Uint8ClampedArray.from({ length: 4 * 5 * 4 }, (_, i) => (i % 4 === 3 ? 255 : i * 3));
  await media.logImage('own', new ImageData(data, 4, 5), { step: 1 });
  await session.endRun();
  const run = await openRun(session.store, session.runId);
  const [item] = (await readMedia(run, { kinds: ['image'] })).items;
  if (item === undefined) throw new Error('it was logged');
  const bitmap = await createImageBitmap(
    new Blob([await loadMedia(run, item)], { type: item.metadata.mimeType }),
  );
  const context = new OffscreenCanvas(4, 5).getContext('2d');
  context?.drawImage(bitmap, 0, 0);
  expect(context?.getImageData(0, 0, 4, 5).data).toEqual(data);
});

test('code of a page is its scripts with their hashes; files come as handles', async () => {
  const session = await start();
  const media = new MediaLogger(session);
  await media.logCode();
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('quark-test', { create: true });
  const file = await folder.getFileHandle('a.txt', { create: true });
  const writable = await file.createWritable();
  await writable.write('in a handle');
  await writable.close();
  const { records, skipped } = await media.logDirectory('opfs', folder);
  expect([records.length, skipped]).toStrictEqual([1, []]);
  await expect(media.logFile('path', '/etc/hostname')).rejects.toMatchObject({
    details: { field: 'file' },
  });
  await root.removeEntry('quark-test', { recursive: true });
  await session.endRun();
  const code = await readRunCode(await openRun(session.store, session.runId));
  expect(code).toMatchObject({ platform: 'browser', commit: null, diff: null });
  expect(code?.scripts.some(({ sha256 }) => sha256 !== null && /^[\da-f]{64}$/.test(sha256))).toBe(
    true,
  );
});
