/** What is killed in a round, and what has to be there afterwards. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupTombstones } from '../../../src/backup/node/make-backup.ts';
import { verifyBackup } from '../../../src/backup/node/verify-backup.ts';
import { restoreBackup } from '../../../src/backup/node/restore-backup.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../../src/store/store.ts';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import { Load } from '../../../test/faults/clients.ts';
import { Child } from '../../../test/faults/processes.ts';
import { compareRows } from '../../../test/faults/rows.ts';
import type { ServerBeside } from '../report.ts';
import { DOOMED, type ForgetPlan } from './plan.ts';

/** A service that may be killed. */
export type KillableService = {
  readonly port: number;
  kill(): Promise<void>;
  stop(): Promise<unknown>;
};

/** Starts a service. @param port 0: any */
export type StartService = (storage: string, port: number) => Promise<KillableService>;

const CLIENTS = 3;
const MAX_CALM_MS = 250;
/** PgBouncer tries a server that was away again after 15 s. */
const RECOVERY_MS = 120_000;

/** A service under load, and what may be killed beside it. */
export class Field {
  readonly storage: string;
  readonly #start: StartService;
  readonly #beside: readonly ServerBeside[];
  #service: KillableService | undefined;
  #load: Load | undefined;
  #port = 0;
  kills = 0;

  constructor(storage: string, start: StartService, beside: readonly ServerBeside[] = []) {
    this.storage = storage;
    this.#start = start;
    this.#beside = beside;
  }

  async begin(): Promise<void> {
    this.#service = await this.#start(this.storage, 0);
    this.#port = this.#service.port;
    this.#load = new Load({
      uri: () => this.uri,
      clients: CLIENTS,
      rowsPerBatch: 40,
      timeoutMs: 10_000,
    });
    await this.recovered();
  }

  /** Kills one of those that take part, starts it again, and waits until rows are acknowledged again. */
  async round(random: () => number): Promise<void> {
    await this.#calm(random() * MAX_CALM_MS);
    const choice = Math.floor(random() * (1 + this.#beside.length));
    const other = this.#beside[choice - 1];
    if (other?.kill === undefined) await this.#killService();
    else await other.kill(random() < 0.7 ? 'SIGKILL' : 'SIGQUIT');
    this.kills++;
    await this.recovered();
  }

  async recovered(): Promise<void> {
    const load = this.#running();
    const before = load.requests;
    const until = performance.now() + RECOVERY_MS;
    while (load.requests < before + CLIENTS) {
      if (performance.now() > until) throw new Error('no row was acknowledged after a kill');
      await this.#calm(10);
    }
  }

  /** Ends the load and the service, and compares every row. */
  async end(): Promise<{ readonly wrong: readonly string[]; readonly rows: number }> {
    const load = this.#running();
    await load.stop();
    const store = await openHttpStorage(this.uri);
    const wrong = await compareRows(store, load.progress);
    await store.close();
    const rows = [...load.progress.values()].reduce(
      (sum, { acknowledged }) => sum + acknowledged,
      0,
    );
    await this.#service?.stop();
    return { wrong, rows };
  }

  /** Where the service is. */
  get uri(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  #running(): Load {
    if (this.#load === undefined) throw new Error('It has not begun.');
    return this.#load;
  }

  async #calm(ms: number): Promise<void> {
    await Promise.race([sleep(ms), this.#running().failed]);
  }

  async #killService(): Promise<void> {
    await this.#service?.kill();
    this.#service = await this.#start(this.storage, this.#port);
  }
}

/** Processes that delete, restore, purge, back up and sweep in the folder of a field; they are killed as well. */
export class Forgetting {
  readonly #program: string;
  readonly #storage: string;
  readonly #folder: string;
  readonly #lines: string[] = [];
  #child: Child | undefined;
  #lives = 0;
  readonly #seed: number;

  /** @param program the bundle of `forgetter.ts` @param folder for backups */
  constructor(program: string, storage: string, folder: string, seed: number) {
    this.#program = program;
    this.#storage = storage;
    this.#folder = folder;
    this.#seed = seed;
  }

  async begin(): Promise<void> {
    const plan: ForgetPlan = {
      storage: this.#storage,
      backup: this.#backup,
      seed: this.#seed + this.#lives,
      life: `${this.#lives++}`,
    };
    const program = { path: this.#program, remove: () => Promise.resolve() };
    this.#child = new Child(program, [JSON.stringify(plan)]);
    await this.#child.line('ready');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    // It does something before it is killed.
    await child.line('deleted');
    await child.kill();
    this.#lines.push(...child.lines);
    this.#child = undefined;
  }

  /** What is wrong: runs that came back, and runs that are gone. The service is there, if it is one. */
  async check(): Promise<readonly string[]> {
    const wrong = this.#lines.filter((line) => line.startsWith('wrong'));
    const isRemote = this.#storage.startsWith('http:');
    const store = await (isRemote ? openHttpStorage : openFileStorage)(this.#storage);
    wrong.push(...(await this.#compare(store)));
    const purged = await store.purgeDeletedRuns();
    wrong.push(
      ...(await this.#compare(store)).map((what) => `${what}, after ${purged.length} purges`),
    );
    await store.close();
    if (this.#lines.some((line) => line.startsWith('backup')))
      wrong.push(...(await this.#restore()));
    return wrong;
  }

  /** How often each kind of act was done. */
  acts(): string {
    const counts = new Map<string, number>();
    for (const line of this.#lines) {
      const [act = ''] = line.split(' ');
      counts.set(act, (counts.get(act) ?? 0) + 1);
    }
    return ['deleted', 'retained', 'restored', 'purged', 'swept', 'backup']
      .filter((act) => counts.has(act))
      .map((act) => `${counts.get(act)} ${act === 'retained' ? 'deleted by a rule' : act}`)
      .join(', ');
  }

  get #backup(): string {
    return join(this.#folder, 'backup');
  }

  async #compare(store: Store): Promise<readonly string[]> {
    const wrong: string[] = [];
    const listed = new Set((await store.listRuns()).map(({ id }) => id));
    for (const [runId, act] of this.#last()) {
      // What it was about when it was killed may have been done or not.
      if (act === 'deleting' || act === 'restoring') continue;
      const isGone = act === 'deleted' || act === 'retained';
      if (isGone && (listed.has(runId) || (await store.findRun(runId)) !== undefined))
        wrong.push(`${runId} came back`);
      if (isGone) continue;
      if (!listed.has(runId)) wrong.push(`${runId} (${act}) is lost`);
      else {
        const rows = DOOMED.batches * DOOMED.rows;
        const progress = new Map([[DOOMED.writer, { acknowledged: rows, tried: rows }]]);
        wrong.push(
          ...(await compareRows(store, progress, runId)).map((what) => `${runId}: ${what}`),
        );
      }
    }
    return wrong;
  }

  /** The last thing that was said of each run. */
  #last(): ReadonlyMap<string, string> {
    const last = new Map<string, string>();
    for (const line of this.#lines) {
      const [act = '', runId = ''] = line.split(' ');
      if (runId.startsWith('doomed_')) last.set(runId, act);
    }
    return last;
  }

  /** The last backup reads back, and brings no run back that was deleted after it. */
  async #restore(): Promise<readonly string[]> {
    const { problems } = await verifyBackup(this.#backup);
    const wrong = problems.map(({ name, reason }) => `backup: ${name}: ${reason}`);
    const directory = await mkdtemp(join(this.#folder, 'restored-'));
    const tombstones = await tombstonesOf(this.#storage, this.#backup);
    await restoreBackup(this.#backup, directory);
    const store = await openFileStorage(directory);
    for (const runId of tombstones)
      if ((await store.findRun(runId)) !== undefined)
        wrong.push(`${runId} came back from the backup`);
    await store.close();
    await rm(directory, { recursive: true, force: true });
    return wrong;
  }
}

/** The ids of deleted runs, which are written to the backup as well. */
async function tombstonesOf(storage: string, backup: string): Promise<readonly string[]> {
  await backupTombstones(storage, backup);
  const store = await openFileStorage(storage);
  const deleted = await store.listDeletedRuns();
  await store.close();
  return deleted.map(({ id }) => id);
}
