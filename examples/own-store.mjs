/**
 * A store of one's own: a journal. Each call that writes is a line of a file, with its time; a store in memory answers the reads, and is
 * made from the lines when the file is opened. It is a template: put your own reads and writes in the place of those of the file and of
 * the store in memory, and run the suite (see docs/stores.md):
 *
 *     import { testStore } from 'quark-sdk/store/testing';
 *     import { afterEach, beforeEach, describe, test } from 'node:test';
 *     testStore({ describe, test, beforeEach, afterEach }, 'journal', async (clock) => {
 *       const folder = await mkdtemp('journal-');
 *       const open = () => openJournal(`journal:${folder}/journal.jsonl`, { clock });
 *       return { open, remove: () => rm(folder, { recursive: true }) };
 *     });
 *
 *     node examples/own-store.mjs
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createMemoryStore, MetricsLogger, openRun, openStorage, startRun } from 'quark-sdk';
import { registerStorage } from 'quark-sdk/store';

/** The calls that change what is stored. */
const WRITES = new Set(
  `ensureProject createRun updateRun renewLease releaseLease appendSegments replaceSegments replaceTable putBlob dropBlobs
  deleteRun archiveRun restoreRun purgeDeletedRuns removeProject`.split(/\s+/),
);

/** Files that are open, so that all stores of this process on a file see the same. */
const journals = new Map();

/** A call as a line, with bytes in base64, and back. */
const toLine = (call) =>
  JSON.stringify(call, (_name, value) =>
    value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString('base64') } : value,
  );
const fromLine = (line) =>
  JSON.parse(line, (_name, value) =>
    typeof value?.$bytes === 'string' ? new Uint8Array(Buffer.from(value.$bytes, 'base64')) : value,
  );

class Journal {
  #file;
  #clock;
  /** The time of the call that is carried out. */
  #nowMs;
  /** Calls are carried out one after the other, in the order of the lines. */
  #last = Promise.resolve();

  /** How many stores are open on it. */
  openCount = 0;

  constructor(file, clock) {
    this.#file = file;
    this.#clock = clock;
    this.memory = createMemoryStore({ clock: { now: () => this.#nowMs ?? this.#clock.now() } });
    mkdirSync(dirname(file), { recursive: true });
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    // A process that ended inside a write has left half a line, which was not acknowledged.
    this.ready = Promise.all(
      lines.slice(0, -1).map((line) => this.#do(() => this.#carryOut(fromLine(line)))),
    );
  }

  #do(work) {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #carryOut([nowMs, name, args]) {
    this.#nowMs = nowMs;
    try {
      // JSON has null for an argument that was left out.
      return await this.memory[name](...args.map((argument) => argument ?? undefined));
    } finally {
      this.#nowMs = undefined;
    }
  }

  read(name, args) {
    return this.#do(() => this.memory[name](...args));
  }

  write(name, args) {
    return this.#do(async () => {
      const call = [this.#clock.now(), name, args];
      const line = `${toLine(call)}\n`;
      const result = await this.#carryOut(call);
      // What was refused changed nothing, and is not written down.
      appendFileSync(this.#file, line);
      return result;
    });
  }
}

/** Opens `journal:FILE`. */
export async function openJournal(uri, { clock = { now: () => Date.now() } } = {}) {
  const file = resolve(decodeURIComponent(uri.slice(uri.indexOf(':') + 1)));
  if (!journals.has(file)) journals.set(file, new Journal(file, clock));
  const journal = journals.get(file);
  await journal.ready;
  journal.openCount++;
  let isOpen = true;
  // A store of its own in front: it can be closed, and knows what is wrong with arguments.
  const front = createMemoryStore({ clock });
  return new Proxy(journal.memory, {
    get(memory, name) {
      if (name === 'uri') return `journal:${encodeURI(file)}`;
      if (name === 'location') return { storageDir: file, storeRoot: file, dbPath: file };
      if (name === 'close')
        return async () => {
          if (isOpen && --journal.openCount === 0) journals.delete(file);
          isOpen = false;
          await front.close();
        };
      // What answers at once cannot wait for its turn, and notes are no part of this store.
      if (['appendSegmentsNow', 'updateRunNow', 'putBlobNow'].includes(name)) return undefined;
      if (name === 'notes' || name === 'then') return undefined;
      if (typeof memory[name] !== 'function') return memory[name];
      return async (...args) => {
        // Refuses every call once it is closed.
        await front.findRun('any');
        return WRITES.has(name) ? journal.write(name, args) : journal.read(name, args);
      };
    },
  });
}

registerStorage('journal', openJournal);

if (process.env.QUARK_EXAMPLE !== 'import') {
  const file = `${process.env.QUARK_STORAGE_DIR ?? 'quark-runs'}/journal.jsonl`;
  const session = await startRun({ project: 'own-store', storage: `journal:${encodeURI(file)}` });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun();
  await session.close();
  const store = await openStorage(`journal:${encodeURI(file)}`);
  const { rowCount } = await (await openRun(store, session.runId)).readMetricColumns();
  console.log(`${session.runId}: ${rowCount} samples in ${file}`);
}
