/** What a file may put into a run is bounded, whatever the file says. */
import { afterEach, describe, expect, test } from 'vitest';
import { createMemoryStore, openRun, type Store } from 'quark-sdk';
import { finishRun, openRunFor } from '../../../src/exchange/import/sink/imported-run.ts';
import { DEFAULT_IMPORT_LIMITS, type ImportLimits } from '../../../src/codecs/limits.ts';
import { RunWriter } from '../../../src/exchange/import/sink/run-writer.ts';

const RUN_ID = 'run_imp0';
const open: Store[] = [];

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function writerFor(
  limits: Partial<ImportLimits> = {},
): Promise<{ store: Store; writer: RunWriter; problems: string[] }> {
  const store = createMemoryStore();
  open.push(store);
  const problems: string[] = [];
  await openRunFor(store, {
    runId: RUN_ID,
    project: 'imports',
    startedAtMs: 1000,
    described: { identity: 'a', name: 'a' },
    format: 'test',
    files: [],
    tags: [],
  });
  const writer = new RunWriter({
    store,
    runId: RUN_ID,
    format: 'test',
    startedAtMs: 1000,
    limits: { ...DEFAULT_IMPORT_LIMITS, ...limits },
    keyRules: [],
    problem: (reason) => problems.push(reason),
  });
  return { store, writer, problems };
}

describe('metric names', () => {
  test('that are refused are reported once each, up to a bound', async () => {
    const { writer, problems } = await writerFor({ maxKeys: 10 });
    for (let turn = 0; turn < 3; turn++)
      for (let i = 0; i < 15; i++) expect(writer.metric(`m${i}`) >= 0).toBe(i < 10);
    expect(problems).toHaveLength(5);
    for (let i = 0; i < 3; i++) expect(writer.metric(`${'x'.repeat(100_000)}${i}`)).toBe(-1);
    expect(problems).toHaveLength(6);
    expect(problems[5]).toContain('over 1000 characters');
  });

  test('of a run record are bounded; each stays with the first sample of its metric', async () => {
    const { store, writer } = await writerFor({ maxConfigChars: 20_000 });
    const long = 'y'.repeat(400);
    for (let i = 0; i < 1000; i++) writer.push(writer.metric(`${i} ${long}`), 1, 0, NaN, NaN);
    const written = await writer.finish();
    expect(Object.keys(written.names)).toHaveLength(1000);
    await finishRun(store, RUN_ID, written, []);
    const { document } = (await store.findRun(RUN_ID)) ?? { document: '' };
    // Summaries are bounded by their number, and take the names with them.
    expect(document.length).toBeLessThan(200_000);
    const { metric_summaries: _summaries, ...rest } = JSON.parse(document) as Record<
      string,
      unknown
    >;
    expect(JSON.stringify(rest).length).toBeLessThan(25_000);
    const [record] = await (await openRun(store, RUN_ID)).readMetrics({ metricKey: `0_${long}` });
    expect(record?.metadata).toEqual({ original_name: `0 ${long}` });
  });
});

test('events with long payloads make segments that a store takes, and count as rows that wait', async () => {
  const { store, writer } = await writerFor();
  const payload = { text: 'z'.repeat(900_000) };
  let flushes = 0;
  for (let step = 0; step < 100; step++) {
    writer.event({ eventType: 'user_log', step, payload });
    if (writer.pendingRows > 65_536) {
      flushes++;
      await writer.flush();
    }
  }
  expect(flushes).toBeGreaterThan(0);
  await writer.finish();
  const events = await (await openRun(store, RUN_ID)).readEvents();
  expect(events.map(({ step }) => step)).toEqual(Array.from({ length: 100 }, (_, step) => step));
});

test('settings that come one by one cost as much as all at once', async () => {
  const { writer } = await writerFor();
  // Copying all of them for each took minutes.
  for (let i = 0; i < 100_000; i++) {
    writer.config({ [`p${i}`]: i });
    writer.environment({ [`e${i}`]: i });
  }
  const { config } = await writer.finish();
  expect(config['p0']).toBe(0);
});

test('steps that cannot be steps are told, once', async () => {
  const { writer, problems } = await writerFor({});
  const loss = writer.metric('loss');
  for (const step of [-1, 1.5, 2 ** 63, Number.NaN, 7])
    writer.push(loss, 1, step, Number.NaN, Number.NaN);
  await writer.finish();
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^3 values have a step that is no whole number from 0 to/);
});
