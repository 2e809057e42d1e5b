/** Part 8: the build of an earlier commit and this one on the same database, with clients of both. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import Libsql from 'libsql';
import pg from 'pg';
import { DATABASE, snapshotOf, storeOf } from './powercut/files.ts';
import { criterion, progress, type Criterion, type Report, type Siege } from './report.ts';
import { ask, ServiceUnderSiege } from './service.ts';

/** Builds by name. */
export type Builds = { readonly old: string; readonly new: string };
type Age = keyof Builds;

/** What a trial runs on. */
export type UpgradePlan = {
  readonly builds: Builds;
  /** The program of a client, `upgrade/client.mjs`. */
  readonly client: string;
  /** An empty folder for the stores of clients. */
  readonly folder: string;
  /** A folder or a database that is empty. */
  readonly storage: string;
  readonly steps: number;
};

/** One act of a trial and what came of it. */
export type Act = { readonly what: string; readonly found: string; readonly isRight: boolean };

type Told = {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly failed?: { readonly message?: string; readonly reason?: string };
};
type Rows = Readonly<Record<string, { rows: number; expected: number; wrong: number }>>;

/** What a refusal of a database of a newer layout has to say. */
const CLEAR = /newer.*Nothing was changed.*Update/s;

/** Does the whole trial on one storage. */
export async function tryUpgrade(plan: UpgradePlan): Promise<readonly Act[]> {
  const trial = new Trial(plan);
  try {
    await trial.oldAlone();
    await trial.both();
    await trial.newAlone();
    await trial.backToOld();
  } finally {
    await trial.end();
  }
  return trial.acts;
}

class Trial {
  readonly acts: Act[] = [];
  readonly #plan: UpgradePlan;
  readonly #services: Partial<Record<Age, ServiceUnderSiege>> = {};
  readonly #runs: { readonly run: string; readonly runId: unknown; readonly steps: number }[] = [];

  constructor(plan: UpgradePlan) {
    this.#plan = plan;
  }

  /** The old build serves; clients of both builds record to it and read from it. */
  async oldAlone(): Promise<void> {
    await this.#start('old');
    await this.#record('old', 'old', 'run_a');
    await this.#record('new', 'old', 'run_b');
    await this.#read('old', 'old');
    await this.#read('new', 'old');
  }

  /** The new build starts on the same database, which brings it up to date, while the old one serves on. */
  async both(): Promise<void> {
    await this.#start('new');
    const ready = await ask(this.#port('old'), '/readyz');
    this.#note(
      'old service beside the new one: /readyz asks for no more requests',
      `${ready.status} ${ready.text.trim().slice(0, 60)}`,
      ready.status === 503 && ready.text.includes('other_layout'),
    );
    await this.#record('old', 'old', 'run_c');
    await this.#record('new', 'old', 'run_d');
    await this.#record('old', 'new', 'run_e');
    for (const age of ['old', 'new'] as const) await this.#read(age, 'new');
    await this.#read('old', 'old');
    await this.#stop('old');
  }

  async newAlone(): Promise<void> {
    await this.#record('new', 'new', 'run_f');
    for (const age of ['old', 'new'] as const) await this.#read(age, 'new');
    await this.#stop('new');
  }

  /** The old build does not take the database back, and changes nothing. */
  async backToOld(): Promise<void> {
    const { storage, builds, folder } = this.#plan;
    const before = await contentOf(storage, folder);
    const said = await ServiceUnderSiege.start(builds.old, storage).then(
      async (service) => {
        await service.stop();
        return 'it serves';
      },
      (error: unknown) => String(error),
    );
    this.#note('old service on the database of the new one', brief(said), CLEAR.test(said));
    if (!storage.startsWith('postgres')) {
      const { failed } = await this.#client('old', 'open', { folder: storage });
      const message = failed?.message ?? 'it opens';
      const isRight = failed?.reason === 'version' && CLEAR.test(message);
      this.#note('old library on the folder of the new one', brief(message), isRight);
    }
    const isSame = (await contentOf(storage, folder)) === before;
    this.#note('what is stored after both refusals', isSame ? 'the same' : 'other', isSame);
    await this.#start('new');
    await this.#read('new', 'new');
  }

  async end(): Promise<void> {
    for (const age of ['old', 'new'] as const) await this.#stop(age);
  }

  async #start(age: Age): Promise<void> {
    this.#services[age] = await ServiceUnderSiege.start(this.#plan.builds[age], this.#plan.storage);
  }

  async #stop(age: Age): Promise<void> {
    await this.#services[age]?.stop();
    delete this.#services[age];
  }

  #port(age: Age): number {
    return this.#services[age]?.port ?? 0;
  }

  /** Records a run through an outbox: all of it is sent, or the client says why not. */
  async #record(client: Age, service: Age, run: string): Promise<void> {
    const { steps, folder } = this.#plan;
    // The last part of the folder is the name of the space at the service.
    const own = join(folder, run, 'default');
    const given = { folder: own, run, steps, service: this.#url(service) };
    const { result, failed } = await this.#client(client, 'record', given);
    this.#runs.push({ run, runId: result?.['runId'], steps });
    this.#note(
      `${client} client records to the ${service} service${this.#beside()}`,
      failed?.message ?? `${String(result?.['state'])}, ${String(result?.['pendingRows'])} pending`,
      result?.['state'] === 'idle' && result['pendingRows'] === 0,
    );
  }

  /** Reads every run that was recorded, and compares every row. */
  async #read(client: Age, service: Age): Promise<void> {
    const given = { service: this.#url(service), runs: this.#runs };
    const { result, failed } = await this.#client(client, 'read', given);
    const runs = Object.entries((result ?? {}) as Rows);
    const wrong = runs.filter(([, one]) => one.rows !== one.expected || one.wrong > 0);
    this.#note(
      `${client} client reads from the ${service} service${this.#beside()}`,
      failed?.message ?? `${runs.length - wrong.length} of ${this.#runs.length} runs are right`,
      wrong.length === 0 && runs.length === this.#runs.length,
    );
  }

  #beside(): string {
    return Object.keys(this.#services).length > 1 ? ', both on one database' : '';
  }

  #url(age: Age): string {
    return `http://127.0.0.1:${this.#port(age)}`;
  }

  async #client(age: Age, action: string, given: object): Promise<Told> {
    const { builds, client } = this.#plan;
    const args = [client, builds[age], action, JSON.stringify(given)];
    const text = await new Promise<string>((resolve, reject) => {
      execFile(process.execPath, args, { timeout: 120_000 }, (error, stdout, stderr) =>
        stdout === '' ? reject(error ?? new Error(stderr)) : resolve(stdout),
      );
    });
    return JSON.parse(text.trim().split('\n').at(-1) ?? '{}') as Told;
  }

  #note(what: string, found: string, isRight: boolean): void {
    this.acts.push({ what, found, isRight });
  }
}

function brief(text: string): string {
  return (/(?:The database|was written)[^"]*/.exec(text)?.[0] ?? text)
    .replaceAll(/\S*\/\S*/g, '...')
    .slice(0, 160);
}

/** A hash of all that is stored. */
export async function contentOf(storage: string, scratch: string): Promise<string> {
  const hash = createHash('sha256');
  if (storage.startsWith('postgres')) {
    const client = new pg.Client({ connectionString: storage });
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1',
    );
    for (const { name } of rows) {
      const found = await client.query(
        `SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) AS sum FROM "${name}" t`,
      );
      hash.update(`${name} ${JSON.stringify(found.rows)}`);
    }
    await client.end();
    return hash.digest('hex');
  }
  // A copy, as the refused ones may move the log into the database file.
  const copy = await storeOf(await snapshotOf(storage, scratch), scratch);
  const database = new Libsql(join(copy, '.quark', DATABASE));
  const all = (text: string): readonly unknown[] => database.prepare(text).raw().all([]);
  for (const [name] of all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1") as [
    string,
  ][])
    hash.update(JSON.stringify([name, all(`SELECT * FROM "${name}"`)]));
  database.close();
  return hash.digest('hex');
}

export async function siegeOfUpgrade(siege: Siege): Promise<Report> {
  const { oldBuild, upgradeClient, servers } = siege;
  const made = oldBuild?.() ?? { missing: 'no earlier build was named' };
  if ('missing' in made)
    return { tables: [], criteria: [], figures: [`left out: ${made.missing}`] };
  const criteria: Criterion[] = [];
  const rows: string[][] = [];
  const server = await servers?.postgres();
  try {
    for (const [name, storage] of [
      ['SQLite', join(siege.folder, 'store')],
      ['PostgreSQL', server === undefined ? undefined : server.uri],
    ] as const) {
      if (storage === undefined) continue;
      progress(`upgrade: ${name}`);
      const folder = join(siege.folder, name);
      await mkdir(folder);
      const acts = await tryUpgrade({
        builds: { old: made.dist, new: siege.dist },
        client: upgradeClient ?? '',
        folder,
        storage,
        steps: siege.isLong ? 20_000 : 1_000,
      });
      rows.push(
        ...acts.map(({ what, found, isRight }) => [name, isRight ? '' : 'WRONG', what, found]),
      );
      const wrong = acts.filter(({ isRight }) => !isRight);
      criteria.push(
        criterion(
          `upgrade: ${name}: both builds serve one database, clients of both read and write all of it, and the way back is refused clearly`,
          wrong.length === 0,
          wrong.length === 0
            ? `${acts.length} acts`
            : wrong.map(({ what, found }) => `${what}: ${found}`).join(' | '),
        ),
      );
    }
  } finally {
    await server?.stop();
  }
  const head = ['database', '', 'act', 'found'];
  return { tables: [{ title: 'An earlier build and this one', head, rows }], criteria };
}
