/** The store of a gallery: a list without a fetch, and a run that is fetched when somebody looks at it. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, beforeAll, expect, test } from 'vitest';
import {
  createMemoryStore,
  listRuns,
  MetricsLogger,
  openRun,
  startRun,
  type Store,
} from 'quark-sdk';
import { findRunRows } from 'quark-sdk/workspace';
import {
  exportQuark,
  galleryRun,
  galleryText,
  readGallery,
  type Gallery,
} from 'quark-sdk/exchange';
import { galleryStore } from '../../../dashboard/gallery/gallery-store.ts';
import { tableData } from '../../../dashboard/runs/model/table-source.ts';
import { ImportClient } from '../../../dashboard/worker/import-client.ts';
import { hostImports } from '../../../dashboard/worker/import-host.ts';
import type { Line } from '../../../dashboard/parts/line.ts';

const AT = new URL('https://example.org/base/quark.json');
const files = new Map<string, Uint8Array<ArrayBuffer>>();
const ports: MessagePort[] = [];
let gallery: Gallery;

beforeAll(async () => {
  const entries = [];
  for (const [at, lr] of [0.1, 0.01, 0.001].entries()) {
    const store = createMemoryStore();
    const session = await startRun({
      project: 'digits',
      name: `run ${at}`,
      storage: store,
      config: { lr },
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 40; step++) metrics.log('train/loss', lr / (step + 1), { step });
    await session.endRun();
    const reader = await openRun(store, session.runId);
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const piece of exportQuark(reader)) parts.push(piece);
    const file = `runs/${at}.quark`;
    files.set(new URL(file, AT).href, new Uint8Array(await new Blob(parts).arrayBuffer()));
    entries.push(await galleryRun(reader, file, 1));
  }
  const { gallery: index } = JSON.parse(galleryText('Digits', entries)) as { gallery: unknown };
  gallery = readGallery(index);
});
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

/** The worker on the other end of a channel. */
function inWorker(): ImportClient {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  hostImports(lineOf(port2));
  return new ImportClient(lineOf(port1), 'gallery:test');
}

function lineOf(port: MessagePort): Line {
  return {
    postMessage: (message, options) =>
      port.postMessage(message, [...(options?.transfer ?? [])] as never),
    addEventListener: (_type, listener) => {
      port.on('message', (data: unknown) => listener({ data } as MessageEvent));
    },
  };
}

type Server = { readonly asked: string[]; readonly store: Store };

async function opened(
  answer: (url: string) => Response = (url) =>
    new Response(files.get(url) ?? null, { status: files.has(url) ? 200 : 404 }),
  of: Gallery = gallery,
): Promise<Server> {
  const asked: string[] = [];
  const store = await galleryStore(of, AT, inWorker(), async (file, { mode }) => {
    expect(mode).toBe('same-origin');
    asked.push(file.href);
    return answer(file.href);
  });
  return { asked, store };
}

test('the list, its columns and its small curves cost no fetch; a run costs one', async () => {
  const { asked, store } = await opened();
  const { rows, total } = await findRunRows(store, {
    where: 'config.lr < 0.05',
    columns: ['config.lr', 'metrics.train/loss.last'],
  });
  expect(total).toBe(2);
  expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(['run 1', 'run 2']));
  const curves = await tableData(store).curves(
    rows.map(({ id }) => id),
    '',
  );
  expect([...curves.values()].map(({ key }) => key)).toEqual(['train/loss', 'train/loss']);
  expect(asked).toEqual([]);
  const id = rows[0]?.id ?? '';
  const readers = await Promise.all([openRun(store, id), openRun(store, id)]);
  expect(asked).toHaveLength(1);
  const { series } = await readers[0].readSeries();
  expect(series[0]?.values).toHaveLength(40);
  expect(store.isWritable).toBe(false);
});

test('runs that are opened together are told apart', async () => {
  const { store } = await opened();
  const runs = await listRuns(store);
  const readers = await Promise.all(runs.map(({ run }) => openRun(store, run.id)));
  const lasts = await Promise.all(
    readers.map(async (one) => (await one.readSeries()).series[0]?.values.at(-1)),
  );
  expect(new Set(lasts)).toEqual(new Set([0.001 / 40, 0.01 / 40, 0.1 / 40]));
});

test('a file that is not there, or has another run, is an error of that run, and is tried again', async () => {
  let isBack = false;
  const [first, second] = gallery.runs;
  const { store } = await opened((url) =>
    isBack ? new Response(files.get(url)) : new Response(null, { status: 404 }),
  );
  await expect(openRun(store, first?.run.id ?? '')).rejects.toThrow('status 404');
  isBack = true;
  expect((await openRun(store, first?.run.id ?? '')).run.name).toBe('run 0');
  const swapped = { ...gallery, runs: [{ ...gallery.runs[0], file: second?.file ?? '' } as never] };
  const wrong = await opened(undefined, swapped);
  await expect(openRun(wrong.store, first?.run.id ?? '')).rejects.toThrow('does not have the run');
  const html = await opened(() => new Response('<!doctype html><p>Not found'));
  await expect(openRun(html.store, first?.run.id ?? '')).rejects.toThrow('does not have the run');
});
