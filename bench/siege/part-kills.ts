/** Part 9: rounds of kills under load: alone, through PgBouncer, and while runs are deleted, backed up and swept. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { random as randomFrom } from '../../test/support/tensors.ts';
import { Field, Forgetting, type StartService } from './kills/fields.ts';
import {
  criterion,
  progress,
  type Criterion,
  type Report,
  type ServerBeside,
  type Siege,
} from './report.ts';
import { ServiceUnderSiege } from './service.ts';

const SHORT = 18;
const LONG = 201;

/** What came of the rounds of one field. */
export type KillCounts = {
  readonly rounds: number;
  readonly kills: number;
  readonly rows: number;
  readonly wrong: readonly string[];
  readonly acts?: string;
};

/** Rounds on a folder, while other processes delete, restore, back up and sweep in it. @param program the bundle of `forgetter.ts` */
export async function killWhileForgetting(
  folder: string,
  plan: {
    readonly program: string;
    readonly rounds: number;
    readonly seed: number;
    readonly start: StartService;
  },
): Promise<KillCounts> {
  const storage = join(folder, 'store');
  await mkdir(storage, { recursive: true });
  const field = new Field(storage, plan.start);
  await field.begin();
  const forgetting = new Forgetting(plan.program, storage, folder, plan.seed);
  const kills = await interleave(field, forgetting, plan);
  const { wrong, rows } = await field.end();
  const found = [...wrong, ...(await forgetting.check())];
  return {
    rounds: plan.rounds,
    kills,
    rows,
    wrong: found,
    acts: forgetting.acts(),
  };
}

/** Rounds on any storage, while other processes delete, apply rules of retention, restore and purge over HTTP. */
export async function killWhileForgettingOverHttp(plan: {
  readonly program: string;
  readonly storage: string;
  readonly rounds: number;
  readonly seed: number;
  readonly start: StartService;
  readonly beside?: readonly ServerBeside[];
}): Promise<KillCounts> {
  const field = new Field(plan.storage, plan.start, plan.beside);
  await field.begin();
  // No backups: their folder is not used.
  const forgetting = new Forgetting(plan.program, field.uri, '', plan.seed);
  const kills = await interleave(field, forgetting, plan);
  const found = await forgetting.check();
  const { wrong, rows } = await field.end();
  return {
    rounds: plan.rounds,
    kills,
    rows,
    wrong: [...wrong, ...found],
    acts: forgetting.acts(),
  };
}

/** Kills both in turn, and every third time in one round. */
async function interleave(
  field: Field,
  forgetting: Forgetting,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<number> {
  const random = randomFrom(seed);
  let kills = 0;
  await forgetting.begin();
  for (let round = 0; round < rounds; round++) {
    if (round % 3 !== 1) await field.round(random);
    if (round % 3 !== 0) {
      await forgetting.kill();
      kills++;
      await forgetting.begin();
    }
  }
  await forgetting.kill();
  return kills + 1 + field.kills;
}

async function killRounds(field: Field, rounds: number, seed: number): Promise<KillCounts> {
  const random = randomFrom(seed);
  await field.begin();
  for (let round = 0; round < rounds; round++) await field.round(random);
  const { wrong, rows } = await field.end();
  return { rounds, kills: field.kills, rows, wrong };
}

type Found = readonly (readonly [string, KillCounts | string])[];

const starter =
  ({ dist }: Siege): StartService =>
  (storage, port) =>
    ServiceUnderSiege.start(dist, storage, port);

const thirdOf = ({ isLong }: Siege): number => (isLong ? LONG : SHORT) / 3;

/** A folder, alone and with everything that forgets; then with deletion and retention over HTTP, on both databases. */
export async function siegeOfKills(siege: Siege): Promise<Report> {
  const [third, start] = [thirdOf(siege), starter(siege)];
  const found: [string, KillCounts | string][] = [];
  const plain = join(siege.folder, 'plain');
  await mkdir(plain);
  progress('kills: SQLite');
  found.push(['SQLite', await killRounds(new Field(plain, start), third, siege.seed)]);
  progress('kills: deletion, backup and sweeping beside');
  const forgetPlan = { program: siege.forgetter ?? '', rounds: third, seed: siege.seed, start };
  const forgetFolder = join(siege.folder, 'forgetting');
  found.push([
    'SQLite, with deletion, restoring, purges, backups and sweeping',
    await killWhileForgetting(forgetFolder, forgetPlan),
  ]);
  const overHttp = join(siege.folder, 'over-http');
  await mkdir(overHttp);
  progress('kills: deletion and retention over HTTP beside');
  found.push([
    'SQLite, with deletion, retention, restoring and purges over HTTP',
    await killWhileForgettingOverHttp({ ...forgetPlan, storage: overHttp }),
  ]);
  progress('kills: deletion and retention over HTTP beside, PostgreSQL');
  found.push([
    'PostgreSQL, with deletion, retention, restoring and purges over HTTP',
    await onPostgres(siege, (server) =>
      killWhileForgettingOverHttp({ ...forgetPlan, storage: server.uri, beside: [server] }),
    ),
  ]);
  return reportOf(found);
}

/** The last third: a service, PostgreSQL and PgBouncer between them, each killed in turn. */
export async function siegeOfPooler(siege: Siege): Promise<Report> {
  progress('pooler: PgBouncer');
  const counts = await throughPooler(siege, starter(siege), thirdOf(siege));
  return reportOf([['PostgreSQL through PgBouncer', counts]]);
}

function reportOf(found: Found): Report {
  const criteria: Criterion[] = found.flatMap(([name, counts]) =>
    typeof counts === 'string'
      ? []
      : [
          criterion(
            `kills: ${name}: nothing acknowledged is lost, doubled or reordered, and nothing deleted comes back`,
            counts.wrong.length === 0 && counts.rows > 0,
            counts.wrong.length === 0
              ? `${counts.rows} rows compared${counts.acts === undefined ? '' : `; ${counts.acts}`}`
              : counts.wrong.slice(0, 5).join(' | '),
          ),
        ],
  );
  const rows = found.map(([name, counts]) =>
    typeof counts === 'string'
      ? [name, counts, '', '', '']
      : [name, String(counts.rounds), String(counts.kills), String(counts.rows), counts.acts ?? ''],
  );
  const head = ['field', 'rounds', 'kills', 'acknowledged rows', 'beside'];
  const figures = found.map(([name, counts]) =>
    typeof counts === 'string'
      ? `${name}: ${counts}`
      : `${name}: ${counts.rounds} rounds, ${counts.kills} kills, ${counts.rows} rows`,
  );
  return { tables: [{ title: 'Rounds of kills', head, rows }], criteria, figures };
}

/** Or why it was left out. */
async function onPostgres(
  { servers }: Siege,
  work: (server: ServerBeside) => Promise<KillCounts>,
): Promise<KillCounts | string> {
  const server = await servers?.postgres();
  if (server === undefined) return 'left out: no PostgreSQL';
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Or why it was left out. */
async function throughPooler(
  siege: Siege,
  start: StartService,
  rounds: number,
): Promise<KillCounts | string> {
  const server = await siege.servers?.postgres();
  if (server === undefined) return 'left out: no PostgreSQL';
  try {
    const pooler = await siege.servers?.pooler(server);
    if (pooler === undefined) return 'left out: PgBouncer is not installed';
    try {
      return await killRounds(new Field(pooler.uri, start, [server, pooler]), rounds, siege.seed);
    } finally {
      await pooler.stop();
    }
  } finally {
    await server.stop();
  }
}
