/** Part 5: the power is cut under a store in files. Every state of its files opens, with all that was durable. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { random as randomFrom } from '../../test/support/tensors.ts';
import { Helper } from './children.ts';
import { Verifier } from './powercut/check.ts';
import { snapshotOf } from './powercut/files.ts';
import { stepsOf, type Step, type Synchronous } from './powercut/recording.ts';
import { resendAfterCuts } from './powercut/resend.ts';
import { statesOf, type CrashState, type Moment } from './powercut/states.ts';
import { canTrace, compareSyncs, tracer, type SyncCounts } from './powercut/traced.ts';
import {
  criterion,
  progress,
  type Criterion,
  type Report,
  type Siege,
  type Table,
} from './report.ts';
import { ServiceUnderSiege } from './service.ts';

/** How many steps are recorded, and how many states are compared at most: of each kind about as many. */
export type PowercutSizes = { readonly steps: number; readonly states: number };

const SHORT: PowercutSizes = { steps: 20, states: 60 };
const LONG: PowercutSizes = { steps: 60, states: 500 };
const RESEND_SHORT = { batches: 10, states: 6 };
const RESEND_LONG = { batches: 30, states: 40 };
/** Of a recording. */
const MODES: readonly Synchronous[] = ['full', 'normal'];

/** What came of the states of one way to wait for the disk. */
export type PowercutCounts = {
  readonly synchronous: Synchronous;
  readonly kinds: ReadonlyMap<string, number>;
  readonly states: number;
  readonly wrong: readonly string[];
  /** What was recorded: a moment before each step and one after the last. */
  readonly moments: readonly Moment[];
  readonly steps: readonly Step[];
};

/** Records a store at work, and opens every state. @param program the bundle of `siege-program.ts` */
export async function cutPower(
  folder: string,
  program: string,
  plan: PowercutSizes & { readonly seed: number; readonly synchronous: Synchronous },
): Promise<PowercutCounts> {
  const { seed, synchronous } = plan;
  const scratch = await mkdtemp(join(folder, `${synchronous}-`));
  const storage = join(scratch, 'store');
  await mkdir(join(storage, '.quark'), { recursive: true });
  const steps = stepsOf(seed, plan.steps);
  const moments = await recorded(program, { storage, synchronous, steps, scratch });
  const random = randomFrom(seed);
  const all = steps.flatMap((_, i) => statesOf(moments, i + 1, synchronous, random));
  // Moment 0 is before the first step.
  const numbered: readonly Step[] = [{ kind: 'close' }, ...steps];
  const verifier = new Verifier(numbered, moments, scratch);
  const kinds = new Map<string, number>();
  const wrong: string[] = [];
  const chosen = spread(all, plan.states, random);
  for (const [i, state] of chosen.entries()) {
    kinds.set(state.kind, (kinds.get(state.kind) ?? 0) + 1);
    const found = await verifier.check(state);
    if (found.length > 0)
      wrong.push(
        `${state.kind}, step ${state.at} (${steps[state.at - 1]?.kind}): ${found.join('; ')}`,
      );
    if ((i + 1) % 100 === 0) progress(`powercut: ${synchronous}, ${i + 1} of ${chosen.length}`);
  }
  await rm(scratch, { recursive: true, force: true });
  return { synchronous, kinds, states: chosen.length, wrong, moments, steps: numbered };
}

async function recorded(
  program: string,
  plan: {
    readonly storage: string;
    readonly synchronous: Synchronous;
    readonly steps: readonly Step[];
    readonly scratch: string;
    readonly under?: readonly string[];
  },
): Promise<readonly Moment[]> {
  const { storage, synchronous, steps, scratch } = plan;
  const writer = new Helper(program, false, plan.under);
  const moments: Moment[] = [{ files: new Map() }];
  try {
    for (const step of steps) {
      await writer.do({ kind: 'record', plan: { storage, synchronous, step } });
      moments.push({ files: await snapshotOf(storage, scratch) });
    }
    await writer.end();
    return moments;
  } finally {
    writer.stop();
  }
}

/** Records under a tracer, and compares where SQLite waits for the disk with where states are cut. */
export async function traceSyncs(
  folder: string,
  program: string,
  plan: { readonly seed: number; readonly steps: number; readonly synchronous: Synchronous },
): Promise<SyncCounts> {
  const { synchronous } = plan;
  const scratch = await mkdtemp(join(folder, `${synchronous}-traced-`));
  const storage = join(scratch, 'store');
  await mkdir(join(storage, '.quark'), { recursive: true });
  const steps = stepsOf(plan.seed, plan.steps);
  const calls = join(scratch, 'calls');
  const under = tracer(calls);
  const moments = await recorded(program, { storage, synchronous, steps, scratch, under });
  const counts = await compareSyncs(calls, moments, synchronous);
  await rm(scratch, { recursive: true, force: true });
  return counts;
}

/** So many of them, of each kind about as many, in the order of the recording. */
function spread(
  all: readonly CrashState[],
  count: number,
  random: () => number,
): readonly CrashState[] {
  const byKind = new Map<string, CrashState[]>();
  for (const state of all) byKind.set(state.kind, [...(byKind.get(state.kind) ?? []), state]);
  const queues = [...byKind.values()].map((states) =>
    states.map((state) => ({ state, draw: random() })).sort((a, b) => a.draw - b.draw),
  );
  const chosen: CrashState[] = [];
  for (let i = 0; chosen.length < count && queues.some((queue) => i < queue.length); i++)
    for (const queue of queues) {
      const one = queue[i];
      if (one !== undefined && chosen.length < count) chosen.push(one.state);
    }
  return chosen.sort((a, b) => a.at - b.at);
}

export async function siegeOfPower(siege: Siege): Promise<Report> {
  const sizes = siege.isLong ? LONG : SHORT;
  const tables: Table[] = [];
  const criteria: Criterion[] = [];
  for (const synchronous of MODES) {
    const plan = { ...sizes, seed: siege.seed, synchronous };
    const { kinds, states, wrong } = await cutPower(siege.folder, siege.program, plan);
    tables.push({
      title: `States of the files after a power cut, synchronous=${synchronous}`,
      head: ['state', 'how many'],
      rows: [...kinds]
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([kind, times]) => [kind, String(times)]),
    });
    criteria.push(
      criterion(
        `powercut: synchronous=${synchronous}: every state opens, is whole, has all that was durable, and lacks only what was committed last`,
        wrong.length === 0 && states > 0,
        `${states - wrong.length} of ${states} states${wrong.length === 0 ? '' : `; ${wrong.slice(0, 5).join(' | ')}`}`,
      ),
    );
  }
  const traced = await tracedPart(siege, sizes.steps);
  tables.push(traced.table);
  criteria.push(...traced.criteria);
  const resent = await resendAfterCuts(siege.folder, {
    seed: siege.seed,
    ...(siege.isLong ? RESEND_LONG : RESEND_SHORT),
    start: (storage, port) => ServiceUnderSiege.start(siege.dist, storage, port),
  });
  const { wrong, lossy, rowsLost, told } = resent;
  criteria.push(
    criterion(
      'powercut: a client that was told "all sent" finds what the service has lost, and sends it again by itself',
      wrong.length === 0 && lossy > 0,
      wrong.length === 0
        ? `${resent.states} states, ${lossy} of them without ${rowsLost} rows together; told in ${told} runs`
        : wrong.slice(0, 5).join(' | '),
    ),
  );
  const figures = [
    `${MODES.length * sizes.states} states of a store`,
    `${resent.states} of a service, ${rowsLost} rows sent again`,
  ];
  return { tables, criteria, figures };
}

/** The waits of both ways, or why they were not traced. */
async function tracedPart(
  siege: Siege,
  steps: number,
): Promise<{ readonly table: Table; readonly criteria: readonly Criterion[] }> {
  const title = 'Where SQLite waits for the disk, by its system calls';
  const head = ['synchronous', 'waits for the log', 'ends of transactions'];
  if (!canTrace())
    return { table: { title, head, rows: [['left out: no strace here', '', '']] }, criteria: [] };
  const rows: (readonly string[])[] = [];
  const criteria: Criterion[] = [];
  for (const synchronous of MODES) {
    const plan = { seed: siege.seed, steps, synchronous };
    const { syncs, boundaries, wrong } = await traceSyncs(siege.folder, siege.program, plan);
    rows.push([synchronous, String(syncs), String(boundaries)]);
    criteria.push(
      criterion(
        `powercut: synchronous=${synchronous}: SQLite waits for the disk where the states are cut`,
        wrong.length === 0 && syncs > 0 && boundaries > 0,
        wrong.length === 0
          ? `${syncs} waits for the log, ${boundaries} ends of transactions`
          : wrong.slice(0, 5).join(' | '),
      ),
    );
  }
  return { table: { title, head, rows }, criteria };
}
