/**
 * A siege in short: clients that leave in every route and phase, and requests that are dear. `npm run bench -- siege` is
 * the long form; timings are its business alone.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attack } from '../../bench/siege/attack.ts';
import { abortUploads, floodAndLeave, leaveEarly } from '../../bench/siege/leaving.ts';
import { everydayOf, makeLeaveScene } from '../../bench/siege/part-leave.ts';
import { candidates, makeAttackScene } from '../../bench/siege/requests.ts';
import { everyRoute } from '../../bench/siege/routes.ts';
import { makeScene, type SiegeUser } from '../../bench/siege/scene.ts';
import { ask, heldBy, settledAt } from '../../bench/siege/service.ts';
import { isWhole } from '../support/property.ts';
import { random } from '../support/tensors.ts';
import { buildProgram, startService, type Child, type Program } from './processes.ts';

const SEED = 14;
const LEAVING = 300;
const NOTHING = { bytesInFlight: 0, openStreams: 0, requestsInFlight: 0 };
/** On a machine that has much else to do. */
const PATIENCE_MS = 60_000;
const SCENE = {
  requests: LEAVING,
  users: 4,
  rows: 20_000,
  blobBytes: 1 << 20,
  largeUploads: 4,
  largeBytes: 60 << 20,
  floods: 1,
  warmUpRequests: 0,
  atOnce: 12,
};
const ATTACK = {
  rows: 20_000,
  hugeSegments: 1,
  manySegments: 300,
  runs: 200,
  blobBytes: 2 << 20,
};

let program: Program;
let directory: string;
let service: Child;
let port: number;
let users: readonly SiegeUser[];
let sha256: string;
let attackSha256: string;
let keys: { readonly read: string; readonly write: string };

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-siege-'));
  ({ users, sha256 } = await makeLeaveScene(directory, SCENE, SEED));
  await makeScene(directory, async (scene) => {
    attackSha256 = await makeAttackScene(scene, ATTACK, random(SEED));
    keys = {
      read: await scene.key('attacker', 'read'),
      write: await scene.key('attacker', 'write'),
    };
  });
  service = startService(program, { storage: directory });
  port = Number(await service.line('listening'));
});

afterAll(async () => {
  await service.stop();
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test(`${LEAVING} clients that leave in every route and phase: all budgets come back, and everybody is answered`, async () => {
  const authorization = `Bearer ${users[0]?.key}`;
  const { text } = await ask(port, '/api/v1/openapi.json', { headers: { authorization } });
  const routes = everyRoute(JSON.parse(text), sha256);
  expect(new Set(routes.map(({ route }) => route)).size).toBeGreaterThan(50);
  const plan = { port, seed: SEED, users: users.slice(1) };
  const counts = await leaveEarly({ ...plan, count: LEAVING, atOnce: SCENE.atOnce, routes });
  expect(counts.requests).toBeGreaterThanOrEqual(LEAVING);
  await abortUploads({
    ...plan,
    count: SCENE.largeUploads,
    bytes: new Uint8Array(SCENE.largeBytes),
  });
  await floodAndLeave({ ...plan, count: SCENE.floods });

  expect(await settledAt(port, PATIENCE_MS)).toBeDefined();
  expect(await heldBy(port)).toEqual(NOTHING);
  for (const [i, user] of users.entries())
    expect(await everydayOf(port, user, i)).toEqual([200, 200, 200, 200]);
  expect((await ask(port, '/readyz')).status).toBe(200);
  expect(service.isRunning, service.problems).toBe(true);
});

test('dear requests get 2xx, 4xx, or 429 and 503 that say when to come back; nothing stays', async () => {
  const all = await candidates(attackSha256, ATTACK);
  // The campaign sends all of them as well, for longer.
  const some = isWhole ? all : all.filter((_, at) => at % 3 === 0);
  for (const { bodies, ...request } of some) {
    const { statuses, wrong } = await attack({
      port,
      key: keys[request.scope],
      seconds: 0.1,
      perSecond: 30,
      request,
      bodies: bodies.map((body) => Buffer.from(body).toString('base64')),
    });
    expect(wrong, `${request.name}: ${JSON.stringify(statuses)}`).toEqual([]);
    expect(statuses, request.name).not.toHaveProperty('cut');
    expect(await settledAt(port, PATIENCE_MS), request.name).toBeDefined();
  }
  expect(await everydayOf(port, users[0] ?? { name: '', key: '' }, 9)).toEqual([
    200, 200, 200, 200,
  ]);
  expect(service.isRunning, service.problems).toBe(true);
});
