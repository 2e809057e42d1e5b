/** Part 2: expensive requests at a steady rate, while another user works. */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { random as randomFrom } from '../../test/support/tensors.ts';
import type { AttackCounts, WorkTimes } from './attack.ts';
import { Helper } from './children.ts';
import {
  criterion,
  ms,
  progress,
  quantile,
  statusText,
  type Criterion,
  type Report,
  type Siege,
} from './report.ts';
import { candidates, makeAttackScene, type AttackSizes, type Candidate } from './requests.ts';
import { addRows, makeScene, RUN_ID } from './scene.ts';
import { ask, ServiceUnderSiege } from './service.ts';

const SIZES: AttackSizes = {
  rows: 1_000_000,
  hugeSegments: 24,
  manySegments: 4_096,
  runs: 2_000,
  blobBytes: 60 << 20,
};
const VICTIM_ROWS = 20_000;
const PER_SECOND = 50;
const APPENDS_PER_SECOND = 20;
const CURVES_PER_SECOND = 4;
const WARM_SECONDS = 0.5;
/** Of each key so many requests are sent, those that cost the most. */
const DEAREST = 5;
/** How long the requests of one key are sent in the long form, all of them together. */
const LONG_SECONDS_A_KEY = 600;
const LONG_CONTROL_SECONDS = 15;
const PROGRESS_MS = 30_000;
/** Each candidate alone: so many times, and for so long at most. */
const TRIES = 1;
const TRY_MS = 1_500;
/** Time limit for the service to finish; after it, the service is restarted. */
const TRY_SETTLE_MS = 1_500;
const SETTLE_MS = 5_000;
const APPEND_P99_MS = 100;
const CURVES_P99_MS = 300;
const BACKLOG_MS = 30_000;

type Field = { readonly sha256: string; readonly keys: Keys };
type Keys = { readonly read: string; readonly write: string; readonly victim: string };

/** The service over the scene; started anew where it does not come to rest. */
class Battlefield {
  readonly #siege: Siege;
  service: ServiceUnderSiege;
  restarts = 0;

  constructor(siege: Siege, service: ServiceUnderSiege) {
    this.#siege = siege;
    this.service = service;
  }

  /** Milliseconds until no request is under way. */
  async rest(limitMs = SETTLE_MS): Promise<number | undefined> {
    const restMs = await this.service.settled(limitMs);
    if (restMs !== undefined) return restMs;
    this.restarts += 1;
    await this.service.stop();
    this.service = await ServiceUnderSiege.start(this.#siege.dist, this.#siege.folder);
    return undefined;
  }
}

type Cost = { readonly one: Candidate; readonly seconds: number; readonly status: number };

/** Processor time of each candidate alone, what goes on after its client has left included. */
async function costs(field: Battlefield, all: readonly Candidate[], keys: Keys): Promise<Cost[]> {
  const found: Cost[] = [];
  for (const one of all) {
    const before = await field.service.processorSeconds();
    let status = 0;
    for (let i = 0; i < TRIES; i++) {
      const [body] = one.bodies;
      const answer = await ask(field.service.port, one.path.replaceAll('{i}', String(7 + i)), {
        method: one.method,
        headers: { ...one.headers, authorization: `Bearer ${keys[one.scope]}` },
        limitMs: one.path.includes('/events') ? 200 : TRY_MS,
        ...(body === undefined ? {} : { body }),
      });
      status = answer.status;
    }
    const restMs = await field.service.settled(TRY_SETTLE_MS);
    const after = await field.service.processorSeconds();
    found.push({ one, seconds: (after - before) / TRIES, status });
    if (restMs === undefined) await field.rest(0);
  }
  return found.toSorted((a, b) => b.seconds - a.seconds);
}

type Round = {
  readonly one: Candidate;
  readonly counts: AttackCounts;
  readonly cpu: number;
  readonly seconds: number;
  readonly restMs: number | undefined;
  readonly control: WorkTimes;
  readonly victim: WorkTimes;
  readonly isAlive: boolean;
};

export async function siegeOfExpensive(siege: Siege): Promise<Report> {
  const { isLong, folder } = siege;
  progress('expensive: scene');
  const scene = await prepare(siege);
  const { keys } = scene;
  const all = await candidates(scene.sha256, SIZES);
  const field = new Battlefield(siege, await ServiceUnderSiege.start(siege.dist, folder));
  const attacker = new Helper(siege.program, true);
  const victim = new Helper(siege.program, false);
  try {
    progress('expensive: merging what the scene left');
    await quiet(field.service);
    progress(`expensive: ${all.length} candidates alone`);
    const ranked = await costs(field, all, keys);
    const chosen = (['read', 'write'] as const).flatMap((scope) =>
      ranked.filter(({ one }) => one.scope === scope).slice(0, DEAREST),
    );
    const rounds: Round[] = [];
    const [controlSeconds, seconds] = isLong
      ? [LONG_CONTROL_SECONDS, LONG_SECONDS_A_KEY / DEAREST]
      : [2, 4];
    for (const [i, { one }] of chosen.entries()) {
      await field.rest();
      const { service } = field;
      const round = `expensive: ${i + 1} of ${chosen.length}, ${one.scope} key: ${one.name}`;
      progress(`${round}, ${seconds} s`);
      const plan = (name: string, length: number) => ({
        port: service.port,
        key: keys.victim,
        runId: RUN_ID,
        writerId: `${name}_${i}`,
        seconds: length,
        appendsPerSecond: APPENDS_PER_SECOND,
        curvesPerSecond: CURVES_PER_SECOND,
        seed: siege.seed,
      });
      const work = (name: string, length: number): Promise<WorkTimes> =>
        victim.do({ kind: 'work', plan: plan(name, length) });
      // What a service just started has yet to compile is no figure.
      await work('warm', WARM_SECONDS);
      const control = await work('control', controlSeconds);
      const before = await service.processorSeconds();
      const { bodies, ...request } = one;
      const startMs = performance.now();
      const ticking = setInterval(() => {
        progress(`${round}, ${((performance.now() - startMs) / 1_000).toFixed(0)} of ${seconds} s`);
      }, PROGRESS_MS);
      const [counts, victimTimes] = await Promise.all([
        attacker.do<AttackCounts>({
          kind: 'attack',
          plan: {
            port: service.port,
            key: keys[one.scope],
            seconds,
            perSecond: PER_SECOND,
            request,
            bodies: bodies.map((body) => Buffer.from(body).toString('base64')),
          },
        }),
        work('attacked', seconds),
      ]).finally(() => clearInterval(ticking));
      const isAlive = service.isRunning;
      const cpu = isAlive ? (await service.processorSeconds()) - before : Number.NaN;
      const restMs = await field.rest();
      rounds.push({ one, counts, cpu, seconds, restMs, control, victim: victimTimes, isAlive });
    }
    return { tables: [costTable(ranked), attackTable(rounds)], criteria: rounds.flatMap(judge) };
  } finally {
    attacker.stop();
    victim.stop();
    await field.service.stop();
  }
}

async function prepare({ folder, seed }: Siege): Promise<Field> {
  await mkdir(join(folder), { recursive: true });
  return makeScene(folder, async (scene) => {
    await addRows(await scene.store('victim'), RUN_ID, VICTIM_ROWS);
    const sha256 = await makeAttackScene(scene, SIZES, randomFrom(seed));
    const keys = {
      read: await scene.key('attacker', 'read'),
      write: await scene.key('attacker', 'write'),
      victim: await scene.key('victim', 'write'),
    };
    return { sha256, keys };
  });
}

/** Waits until the service has merged what the scene left. */
async function quiet(service: ServiceUnderSiege): Promise<void> {
  const endMs = performance.now() + BACKLOG_MS;
  while (performance.now() < endMs) {
    const { text } = await ask(service.port, '/metrics');
    if (/^quark_merge_backlog 0$/m.test(text)) return;
    await sleep(200);
  }
}

function costTable(ranked: readonly Cost[]) {
  return {
    title: `Candidates, alone: processor time of the service for each (given up after ${TRY_MS / 1_000} s)`,
    head: ['request', 'key', 'status', 's'],
    rows: ranked.map(({ one, seconds, status }) => [
      one.name,
      one.scope,
      status === 0 ? 'none' : String(status),
      seconds.toFixed(2),
    ]),
  };
}

const spread = (times: readonly number[]): string =>
  `${ms(quantile(times, 0.5))} / ${ms(quantile(times, 0.99))}`;

function attackTable(rounds: readonly Round[]) {
  return {
    title: `${PER_SECOND} attempts a second of one user, and another user who works: p50 / p99 in ms`,
    head: [
      'request',
      'key',
      'attempts',
      'statuses',
      'service s',
      'append',
      'control',
      'curves',
      'control',
      'at rest after',
    ],
    rows: rounds.map(({ one, counts, cpu, seconds, restMs, control, victim }) => [
      one.name,
      one.scope,
      String(counts.attempts),
      statusText(counts.statuses),
      `${cpu.toFixed(1)} of ${seconds}`,
      spread(victim.appendMs),
      spread(control.appendMs),
      spread(victim.curvesMs),
      spread(control.curvesMs),
      restMs === undefined ? `not in ${SETTLE_MS / 1_000} s` : `${ms(restMs)} ms`,
    ]),
  };
}

function judge({ one, counts, victim, control, restMs, isAlive }: Round): readonly Criterion[] {
  const [append, curves] = [quantile(victim.appendMs, 0.99), quantile(victim.curvesMs, 0.99)];
  const [idleAppend, idleCurves] = [
    quantile(control.appendMs, 0.99),
    quantile(control.curvesMs, 0.99),
  ];
  const wrong = [...counts.wrong, ...(counts.statuses['cut'] ? ['connections were cut'] : [])];
  const failed = Object.keys(victim.failed).length > 0;
  return [
    criterion(
      `${one.name}: another user's appends, p99 under ${APPEND_P99_MS} ms`,
      append < APPEND_P99_MS,
      `${ms(append)} ms; without ${ms(idleAppend)}`,
    ),
    criterion(
      `${one.name}: another user's curves, p99 under ${CURVES_P99_MS} ms`,
      curves < CURVES_P99_MS,
      `${ms(curves)} ms; without ${ms(idleCurves)}`,
    ),
    criterion(
      `${one.name}: all of the other user's requests are answered with 200`,
      !failed,
      failed ? statusText(victim.failed) : `${victim.appendMs.length + victim.curvesMs.length}`,
    ),
    criterion(
      `${one.name}: answered by 2xx, 4xx, or 429 and 503 with Retry-After`,
      wrong.length === 0,
      wrong.length === 0 ? statusText(counts.statuses) : wrong.join('; '),
    ),
    criterion(
      `${one.name}: the service lives, and is at rest after`,
      isAlive && restMs !== undefined,
      restMs === undefined ? 'not in time' : `${ms(restMs)} ms`,
    ),
  ];
}
