/** Mutated requests and every route with every kind of key, in short; `npm run bench -- siege --only=mutate,routes` is the long form. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unfinishedIn } from '../../bench/siege/growth.ts';
import {
  makeMutateScene,
  prepareTraffic,
  sendMutated,
  visibleTo,
} from '../../bench/siege/part-mutate.ts';
import { askEveryRoute, makeRouteScene } from '../../bench/siege/part-routes.ts';
import { settledAt } from '../../bench/siege/service.ts';
import { MUTATIONS } from '../../bench/siege/wire/mutations.ts';
import { buildProgram, startService, type Program } from './processes.ts';

const SEED = 16;
const REQUESTS = 500;
/** On a machine that has much else to do. */
const PATIENCE_MS = 60_000;

let program: Program;
let directory: string;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-siege-'));
});

afterAll(async () => {
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test(`${REQUESTS} mutated requests over the recorded traffic of a client: no 5xx, and nothing of others changes`, async () => {
  const storage = join(directory, 'mutated');
  const scene = await makeMutateScene(storage, 3);
  const service = startService(program, { storage });
  const port = Number(await service.line('listening'));
  const traffic = await prepareTraffic(port, scene);
  expect(new Set(traffic.map(({ method }) => method))).toEqual(
    new Set(['GET', 'POST', 'PUT', 'DELETE']),
  );
  const before = await visibleTo(port, scene.victim);
  const plan = { traffic, scene, seed: SEED, first: 0, last: REQUESTS };
  const { wrong, requests, kinds } = await sendMutated(port, plan);
  expect(wrong).toEqual([]);
  expect(requests).toBe(REQUESTS);
  expect(kinds.size).toBe(MUTATIONS.length);
  expect(await visibleTo(port, scene.victim)).toEqual(before);
  expect(await settledAt(port, PATIENCE_MS)).toBeDefined();
  expect(await unfinishedIn(storage)).toBe(0);
  expect(service.isRunning, service.problems).toBe(true);
  expect(await service.stop()).toBe('0');
});

test('every route with every kind of key: 401, 403 or an answer, no 5xx, and nothing of others is shown or changed', async () => {
  const storage = join(directory, 'routes');
  const keys = await makeRouteScene(storage);
  const service = startService(program, { storage });
  const port = Number(await service.line('listening'));
  const { wrong, routes } = await askEveryRoute(port, keys);
  expect(wrong).toEqual([]);
  expect(routes).toBeGreaterThan(70);
  expect(await settledAt(port, PATIENCE_MS)).toBeDefined();
  expect(await unfinishedIn(storage)).toBe(0);
  expect(await service.stop()).toBe('0');
});
