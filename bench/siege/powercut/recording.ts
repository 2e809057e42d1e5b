/** A store at work, one step at a time, with its files copied between the steps. */
import Libsql from 'libsql';
import { random as randomFrom } from '../../../test/support/tensors.ts';
import { metricTable } from '../../../src/records/metric.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../../src/store/store.ts';
import { makeRun, RUN_ID, segmentOf } from '../../../test/faults/rows.ts';
import { noise, sha256Of } from '../scene.ts';

/** Rows of a batch: all of them, so that progress in rows follows from batches. */
export const BATCH_ROWS = 60;
const LARGE_BLOB_BYTES = 300 * 1024;
const SMALL_BLOB_BYTES = 20_000;

/** How far a disk has to have come before a write counts. */
export type Synchronous = 'normal' | 'full';

/** One thing that the store is asked to do. `checkpoint` and `truncate` copy the log into the database file. */
export type Step =
  | { readonly kind: 'open' | 'merge' | 'checkpoint' | 'truncate' | 'vacuum' | 'close' }
  | { readonly kind: 'append'; readonly writer: string; readonly batches: readonly number[] }
  | { readonly kind: 'tag'; readonly tag: string }
  | { readonly kind: 'blob'; readonly seed: number; readonly size: number };

/** What one step is done with. */
export type StepPlan = {
  readonly storage: string;
  readonly synchronous: Synchronous;
  readonly step: Step;
};

/** The steps of one recording: mostly appends, with everything else that a store does between them. */
export function stepsOf(seed: number, count: number): readonly Step[] {
  const random = randomFrom(seed);
  const next = new Map([
    ['w0', 0],
    ['w1', 0],
  ]);
  const steps: Step[] = [{ kind: 'open' }];
  for (let i = 1; i < count - 1; i++) {
    const draw = random();
    if (draw < 0.5) {
      const writer = random() < 0.5 ? 'w0' : 'w1';
      const first = next.get(writer) ?? 0;
      const length = 1 + Math.floor(random() * 4);
      next.set(writer, first + length);
      const batches = Array.from({ length }, (_, batch) => first + batch);
      steps.push({ kind: 'append', writer, batches });
    } else if (draw < 0.6) steps.push({ kind: 'tag', tag: `t${i}` });
    else if (draw < 0.66) steps.push({ kind: 'merge' });
    else if (draw < 0.82) {
      const size = random() < 0.6 ? LARGE_BLOB_BYTES : SMALL_BLOB_BYTES;
      steps.push({ kind: 'blob', seed: seed * 1_000 + i, size });
    } else if (draw < 0.94) steps.push({ kind: 'checkpoint' });
    else if (draw < 0.97) steps.push({ kind: 'truncate' });
    else steps.push({ kind: 'vacuum' });
  }
  return [...steps, { kind: 'close' }];
}

/** The bytes of a step's blob. */
export function blobOf({ seed, size }: Extract<Step, { kind: 'blob' }>): {
  readonly sha256: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
} {
  const bytes = noise(randomFrom(seed), size);
  return { sha256: sha256Of(bytes), bytes };
}

let store: Store | undefined;
let beside: Libsql.Database | undefined;
let merges = 0;

/** Does one step, in the process that has the store open. Resolves once the store has acknowledged it. */
export async function doStep({ storage, synchronous, step }: StepPlan): Promise<void> {
  store ??= await openFileStorage(`file:${storage}?synchronous=${synchronous}`);
  // A second connection moves the log: when SQLite does so by itself depends on how much was written.
  beside ??= new Libsql(store.location.dbPath);
  switch (step.kind) {
    case 'open':
      return makeRun(store, RUN_ID);
    case 'append':
      await store.appendSegments(
        step.batches.map((batch) => segmentOf(step.writer, batch, BATCH_ROWS)),
      );
      return;
    case 'tag':
      return addTag(store, step.tag);
    case 'merge':
      await compactTable(store, metricTable, RUN_ID, `merge-${merges++}`);
      return;
    case 'blob': {
      const { sha256, bytes } = blobOf(step);
      return store.putBlob(sha256, bytes);
    }
    case 'checkpoint':
      beside.exec('PRAGMA wal_checkpoint(PASSIVE)');
      return;
    case 'truncate':
      beside.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      return;
    case 'vacuum':
      beside.exec('PRAGMA incremental_vacuum(50)');
      return;
    case 'close':
      beside.close();
      await store.close();
      [store, beside] = [undefined, undefined];
  }
}

async function addTag(to: Store, tag: string): Promise<void> {
  const run = await to.findRun(RUN_ID);
  if (run === undefined) throw new Error(`${RUN_ID} is not there.`);
  await to.updateRun({ ...run, tags: [...run.tags, tag] });
}
