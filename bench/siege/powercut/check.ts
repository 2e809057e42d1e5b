/** What a store holds after a power cut: compared with what it held after each transaction before, and row by row. */
import { createHash } from 'node:crypto';
import Libsql from 'libsql';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../../src/store/store.ts';
import { compareRows, RUN_ID, segmentOf, type Progress } from '../../../test/faults/rows.ts';
import { DATABASE, LOG, storeOf, type Files } from './files.ts';
import { BATCH_ROWS, blobOf, type Step } from './recording.ts';
import type { CrashState, Moment } from './states.ts';
import { readWal } from './wal.ts';

/** What was acknowledged before a step, and what that step would add. */
type Known = {
  readonly rows: ReadonlyMap<string, Progress>;
  readonly blobs: readonly Extract<Step, { kind: 'blob' }>[];
  readonly isMade: boolean;
};

/** Compares states with a recording. */
export class Verifier {
  readonly #steps: readonly Step[];
  readonly #moments: readonly Moment[];
  readonly #scratch: string;
  /** What a store holds after each transaction, by where it ends: made when it is first asked for. */
  readonly #contents = new Map<string, Promise<string>>();

  /** @param moments one before each step, and one at the end */
  constructor(steps: readonly Step[], moments: readonly Moment[], scratch: string) {
    this.#steps = steps;
    this.#moments = moments;
    this.#scratch = scratch;
  }

  /** What is wrong with a state; empty when nothing is. */
  async check(state: CrashState): Promise<readonly string[]> {
    const storage = await storeOf(state.files, this.#scratch);
    let store: Store;
    try {
      store = await openFileStorage(storage);
    } catch (error) {
      return [`it does not open: ${String(error)}`];
    }
    try {
      const wrong = [...integrityOf(store)];
      const found = await contentOf(store);
      const possible = await this.#between(state.durableAt, state.at);
      if (!possible.has(found))
        wrong.push('what is there is no prefix of what was committed, or what was durable is lost');
      const known = this.#known(state.durableAt, state.at);
      if (known.isMade) wrong.push(...(await compareRows(store, known.rows)));
      for (const blob of known.blobs) wrong.push(...(await readBlob(store, blob)));
      wrong.push(...(await this.#goesOn(store, state.at)));
      return wrong;
    } catch (error) {
      return [`it cannot be read: ${String(error)}`];
    } finally {
      await store.close();
    }
  }

  /** What the store held after every transaction from one step to another. */
  async #between(from: number, to: number): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (let at = from; at <= to; at++) {
      const files = this.#moments[at]?.files;
      if (files === undefined) continue;
      const before = at === from ? undefined : this.#moments[at - 1]?.files;
      for (const state of cleanStates(files, before)) found.add(await this.#content(state));
    }
    return found;
  }

  #content({ name, files }: CleanState): Promise<string> {
    const known = this.#contents.get(name);
    if (known !== undefined) return known;
    const content = storeOf(files, this.#scratch).then(async (storage) => {
      const store = await openFileStorage(storage);
      try {
        return await contentOf(store);
      } finally {
        await store.close();
      }
    });
    this.#contents.set(name, content);
    return content;
  }

  /** @param from the last step whose effect is durable @param to the step that may have an effect */
  #known(from: number, to: number): Known {
    const rows = new Map<string, Progress>();
    const blobs: Extract<Step, { kind: 'blob' }>[] = [];
    for (const [i, step] of this.#steps.slice(0, to + 1).entries()) {
      if (step.kind === 'append') {
        const tried = (Math.max(...step.batches) + 1) * BATCH_ROWS;
        const acknowledged = i <= from ? tried : (rows.get(step.writer)?.acknowledged ?? 0);
        rows.set(step.writer, { acknowledged, tried });
      } else if (step.kind === 'blob' && i <= from) blobs.push(step);
    }
    return { rows, blobs, isMade: from >= FIRST };
  }

  /** A store that came back takes what is sent again, and what is new. */
  async #goesOn(store: Store, at: number): Promise<readonly string[]> {
    const step = this.#steps[at];
    if (step?.kind === 'blob') {
      const { sha256, bytes } = blobOf(step);
      await store.putBlob(sha256, bytes);
      return readBlob(store, step);
    }
    if ((await store.findRun(RUN_ID)) === undefined) return [];
    await store.appendSegments([segmentOf('afterwards', 0, BATCH_ROWS)]);
    const { length } = (await store.listSegments({ runId: RUN_ID, table: 'metrics' })).filter(
      ({ writerId }) => writerId === 'afterwards',
    );
    return length === 1 ? [] : ['it takes no new rows'];
  }
}

/** Moment 0 is an empty folder; the first step opens the store and makes the run. */
const FIRST = 1;

type CleanState = { readonly name: string; readonly files: Files };

/**
 * The states after each transaction since the moment before; after the last one only, where there is no moment before or the log was
 * copied into the database file since: a log without its end does not fit that file any more.
 */
function cleanStates(files: Files, before: Files | undefined): readonly CleanState[] {
  const log = files.get(LOG) ?? Buffer.alloc(0);
  const { salt, commits } = readWal(log);
  const database = files.get(DATABASE);
  if (database === undefined) return [];
  const earlier = readWal(before?.get(LOG) ?? Buffer.alloc(0));
  const start = earlier.salt === salt ? earlier.end : 0;
  const isMoved = before?.get(DATABASE)?.equals(database) === false;
  const fresh = commits.filter((end) => end > start);
  const isOnlyLast = before === undefined || isMoved || fresh.length === 0;
  const ends = isOnlyLast ? [commits.at(-1) ?? 0] : fresh;
  const name = createHash('sha256').update(database).digest('hex');
  return ends.map((end) => ({
    name: `${name} ${salt} ${end}`,
    files: new Map([...files, [LOG, log.subarray(0, end)]]),
  }));
}

function integrityOf(store: Store): readonly string[] {
  const database = new Libsql(store.location.dbPath);
  try {
    const rows = database.prepare('PRAGMA integrity_check').all([]) as {
      readonly integrity_check: string;
    }[];
    return rows
      .map((row) => row.integrity_check)
      .filter((text) => text !== 'ok')
      .map((text) => `integrity: ${text}`);
  } finally {
    database.close();
  }
}

/** All that is there, as text. */
async function contentOf(store: Store): Promise<string> {
  const runs = await store.listRuns();
  const found: unknown[] = [];
  for (const { id, revision, tags, status } of runs)
    found.push([
      id,
      revision,
      tags,
      status,
      (await store.listSegments({ runId: id, table: 'metrics' })).map((manifest) => [
        manifest.writerId,
        manifest.batchNumber,
        manifest.firstSequence,
        manifest.lastSequence,
        manifest.checksum,
      ]),
    ]);
  return JSON.stringify(found);
}

async function readBlob(
  store: Store,
  blob: Extract<Step, { kind: 'blob' }>,
): Promise<readonly string[]> {
  const { sha256, bytes } = blobOf(blob);
  const found = await store.getBlob(sha256);
  return found !== undefined && Buffer.from(found).equals(bytes)
    ? []
    : [`blob ${sha256.slice(0, 8)} is ${found === undefined ? 'lost' : 'other bytes'}`];
}
