import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { createMemoryStore, openRun, startRun } from 'quark-sdk';
import { exportQuark } from 'quark-sdk/exchange';
import { MediaLogger, readMedia } from 'quark-sdk/media';
import { loadSoundInWorker, loadTableInWorker } from '../../../../dashboard/dropped/analysis.ts';
import { MediaFeed, mediaOf, type MediaRun } from '../../../../dashboard/media/media-feed.ts';
import {
  scaledZoom,
  scrollAfter,
  wheelFactor,
  zoomOfKey,
} from '../../../../dashboard/media/model/graph-zoom.ts';
import { baseText, type TextMode } from '../../../../dashboard/media/text/base-text.ts';
import { ImportClient } from '../../../../dashboard/worker/import-client.ts';
import { hostImports } from '../../../../dashboard/worker/import-host.ts';
import { offerClient } from '../../../../dashboard/worker/offered-clients.ts';
import type { Line } from '../../../../dashboard/parts/line.ts';

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

it('compares a text with any step of its run, and with the nearest step of another run', async () => {
  const store = createMemoryStore();
  const record = async (name: string, steps: readonly number[]): Promise<string> => {
    const session = await startRun({ project: 'texts', name, storage: store });
    const media = new MediaLogger(session);
    for (const step of steps) await media.logText('caption', `${name} ${step}`, { step });
    await session.endRun('completed');
    return session.runId;
  };
  const feed = new MediaFeed(store, [
    { runId: await record('a', [0, 10, 20]), name: 'a' },
    { runId: await record('b', [0, 12]), name: 'b' },
  ]);
  await feed.poll();
  const [a, b] = feed.runs;
  if (a === undefined || b === undefined) throw new Error('no runs');
  const found = (mode: TextMode, at: number, step?: number, baseRun?: MediaRun) => {
    const items = mediaOf(a, 'text');
    const item = items[at];
    if (item === undefined) throw new Error('no text');
    const base = baseText({ mode, key: 'caption', run: a, items, item, step, baseRun });
    return base === undefined ? undefined : [base.run.name, base.item.step];
  };
  expect(found('text', 2)).toBeUndefined();
  expect(found('before', 2)).toEqual(['a', 10]);
  expect(found('before', 0)).toBeUndefined();
  expect(found('first', 2)).toEqual(['a', 0]);
  expect(found('step', 0, 20)).toEqual(['a', 20]);
  expect(found('step', 2, 20)).toBeUndefined();
  expect(found('run', 1, undefined, b)).toEqual(['b', 12]);
  expect(found('run', 1, undefined, a)).toBeUndefined();
  await store.close();
});

/** A run with a table of 9,001 rows and two seconds of sound, as an exported file. */
async function recordedExport(): Promise<{ file: File; path: string }[]> {
  const store = createMemoryStore();
  const session = await startRun({ project: 'media', storage: store });
  const media = new MediaLogger(session);
  const rows = Array.from({ length: 9001 }, (_, id) => ({ id, label: `row ${id}` }));
  await media.logTable('rows', rows, { step: 1 });
  const samples = new Float32Array(16_000);
  await media.logAudio('tone', samples, { step: 1, sampleRate: 8000 });
  await session.endRun('completed');
  const parts: BlobPart[] = [];
  for await (const part of exportQuark(await openRun(store, session.runId)))
    parts.push(new Uint8Array(part));
  await store.close();
  return [{ file: new File(parts, 'run.quark'), path: 'run.quark' }];
}

it('reads large tables in parts and sound from the worker, as they were logged', async () => {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  hostImports(port1 as unknown as Line);
  const client = new ImportClient(port2 as unknown as Line, 'files:media');
  const folder = await recordedExport();
  await client.import(folder, {}, async () => undefined);
  const [run] = await client.store.listRuns();
  if (run === undefined) throw new Error('nothing was imported');
  offerClient(client.store, client);
  const { items } = await readMedia({ store: client.store, runId: run.id });
  const table = items.find(({ kind }) => kind === 'table');
  const sound = items.find(({ kind }) => kind === 'audio');
  if (table === undefined || sound === undefined) throw new Error('no media');
  const { columns, rows } = await loadTableInWorker(client.store, run.id, table.record);
  expect(columns).toEqual(['id', 'label']);
  expect(rows).toHaveLength(9001);
  expect(rows[0]).toEqual([0, 'row 0']);
  expect(rows[4000]).toEqual([4000, 'row 4000']);
  expect(rows.at(-1)).toEqual([9000, 'row 9000']);
  const { channels, sampleRate } = await loadSoundInWorker(client.store, run.id, sound.record);
  expect([sampleRate, channels.length, channels[0]?.length]).toEqual([8000, 1, 16_000]);
  await expect(loadTableInWorker(client.store, run.id, sound.record)).rejects.toThrow('damaged');
});

it('zooms a graph by wheel and keys, and leaves the point under the pointer', () => {
  expect(wheelFactor({ deltaMode: 0, deltaY: -400 })).toBe(2);
  expect(wheelFactor({ deltaMode: 1, deltaY: 25 })).toBe(0.5);
  expect(scaledZoom(3, 2)).toBe(4);
  expect(scaledZoom(0.3, 0.1)).toBe(0.2);
  expect(zoomOfKey('+', 1)).toBe(1.25);
  expect(zoomOfKey('0', 3)).toBe(1);
  expect(zoomOfKey('a', 3)).toBeUndefined();
  // What is at 150 of the drawing stays 50 pixels from the edge.
  expect(scrollAfter(100, 50, 1, 2)).toBe(250);
});
