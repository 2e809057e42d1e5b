/** Requests and answers of the build before the rooms: today's client asks the same, today's service answers the same. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { withoutSentences } from './commands.ts';
import {
  withoutAddedColumns,
  withoutAddedRunFields,
  withoutAddedShapes,
} from './earlier-columns.ts';
import { Folders, inJson, jsonFixture } from './fixtures.ts';
import { fixTimeAndRandomness, type Fixed } from './scenario.ts';
import type { Exchange, Named, TestService } from './traffic.ts';

vi.mock(import('../../../src/records/layer-summary.ts'), async (load) =>
  withoutAddedColumns(await load()),
);
vi.mock(import('../../../src/records/run.ts'), async (load) => withoutAddedRunFields(await load()));
vi.mock(import('../../../src/records/shapes/run.ts'), async (load) =>
  withoutAddedShapes(await load()),
);
vi.mock(import('../../../src/records/parameter-summary.ts'), async (load) =>
  withoutAddedColumns(await load()),
);

type Traffic = {
  readonly runIds: readonly string[];
  /** With checksums in place of long bodies. */
  readonly recorded: readonly Named[];
  readonly sent: readonly Exchange[];
  readonly asked: readonly Exchange[];
};

const traffic = jsonFixture('traffic.json') as Traffic;
const folders = new Folders();
let fixed: Fixed;
let service: TestService;
let ways: typeof import('./traffic.ts');

beforeAll(async () => {
  fixed = fixTimeAndRandomness();
  // New modules: what a schema says of nulls is cached from the first segment that is encoded.
  vi.resetModules();
  ways = await import('./traffic.ts');
  service = await ways.TestService.open(folders.add());
  fixed.drawn(222);
});
afterAll(async () => {
  await service.close();
  fixed.restore();
  folders.clear();
});

/** Sentences of errors may change, and the layout of the database grows. */
function comparable(exchange: Exchange): unknown {
  const { answer } = exchange;
  const settled =
    answer !== null && 'text' in answer
      ? { text: withoutSentences(answer.text).replace(/"layout":\d+/, '"layout":N') }
      : answer;
  return { ...exchange, answer: settled };
}

test('a client records and reads by the same requests, and gets the same answers', async () => {
  expect(await ways.recordAndRead(service, fixed)).toEqual(traffic.runIds);
  const exchanges = service.exchanges.splice(0).map(ways.inShort);
  const named = (list: readonly Named[]): readonly string[] =>
    list.map(({ method, path }) => `${method} ${path}`);
  expect(named(exchanges)).toEqual(named(traffic.recorded));
  for (const [at, exchange] of exchanges.entries())
    expect.soft(inJson(exchange)).toEqual(traffic.recorded[at]);
});

test('what a client sends from its outbox is taken as before', async () => {
  for (const sent of traffic.sent) expect.soft(inJson(await service.ask(sent))).toEqual(sent);
});

test('questions of every route are answered as before', async () => {
  for (const asked of traffic.asked)
    expect.soft(comparable(await service.ask(asked)), asked.path).toEqual(comparable(asked));
});

test('a client sends the run from its outbox', async () => {
  const { createMemoryStore } = await import('quark-sdk');
  await ways.recordThroughOutbox(service, fixed, createMemoryStore({ clock: fixed.clock }));
  const exchanges = service.exchanges.splice(0);
  const sent = new Set(exchanges.map(({ method, path }) => `${method} ${path}`));
  expect(sent).toContain('POST /api/v1/runs');
  expect(sent).toContain('POST /api/v1/segments');
  expect(exchanges.filter(({ status }) => status >= 400)).toEqual([]);
});
