/**
 * A program that records, takes a state at any moment, goes on, crashes and goes on from the state has the records of a program that was
 * never interrupted, wherever the state was taken, as often as it happens, and whether the rows were merged meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { getPayload } from '../../src/instruments/artifacts/parts.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { readArtifacts } from '../../src/read/artifacts.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { openTracker, type Tracker, type TrackerState } from '../../src/tracker.ts';
import { importText } from '../support/imported.ts';
import { runs } from '../support/property.ts';

type Call =
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'context'; readonly stage: string }
  | {
      readonly kind: 'scalar';
      readonly name: string;
      readonly value: number;
      readonly split: string | undefined;
    }
  | { readonly kind: 'bins'; readonly values: readonly number[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'flush' };

const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('step' as const), step: fc.nat({ max: 20 }) }),
  },
  fc.record({ kind: fc.constant('context' as const), stage: fc.constantFrom('train', 'val') }),
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('scalar' as const),
      name: fc.constantFrom('loss', 'metrics/acc/0'),
      value: fc.constantFrom(0.5, 1, -2, Number.NaN, Number.POSITIVE_INFINITY),
      split: fc.constantFrom(undefined, 'a', '1'),
    }),
  },
  fc.record({
    kind: fc.constant('bins' as const),
    values: fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant('text' as const), text: fc.constantFrom('one', 'two') }),
  fc.record({ kind: fc.constant('flush' as const) }),
);

async function perform(tracker: Tracker, calls: readonly Call[]): Promise<void> {
  for (const one of calls) {
    if (one.kind === 'step') tracker.setStep(one.step);
    else if (one.kind === 'context') tracker.setContext({ stage: one.stage });
    else if (one.kind === 'bins') tracker.distribution('weights', one.values);
    else if (one.kind === 'text') tracker.text('notes', one.text);
    else if (one.kind === 'flush') await tracker.flush();
    else
      tracker.scalar(
        one.name,
        one.value,
        one.split === undefined ? {} : { context: { split: one.split } },
      );
  }
}

// Sessions that are left behind say that another one has their run.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue());
afterEach(() => void vi.restoreAllMocks());

/** What readers find, in the order in which it was recorded; artifacts of one moment are stored in any order. */
async function recordsOf(store: Store, runId: string): Promise<unknown> {
  const reader = await openRun(store, runId);
  const metrics = await reader.readMetrics();
  const { records } = await readArtifacts(reader);
  const artifacts = await Promise.all(
    records.map(async (record) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of getPayload(store, record)) chunks.push(chunk);
      const { artifactKey, metadata, step } = record;
      return JSON.stringify([artifactKey, step, metadata, Buffer.concat(chunks).toString()]);
    }),
  );
  return {
    metrics: metrics.map(({ context, metricKey, step, value }) => [
      metricKey,
      step,
      value,
      context,
    ]),
    artifacts: artifacts.sort(),
    stepsInSeries: [...(await reader.readSeries()).series].map(({ key, steps }) => [
      key,
      [...(steps ?? [])],
    ]),
  };
}

/** The process is gone: its leases lapse, and nothing ends its run. */
async function crash(store: Store, runId: string): Promise<void> {
  for (const { holder } of await store.listLeases([runId])) await store.releaseLease(runId, holder);
}

const story = fc.record({
  before: fc.array(call, { maxLength: 12 }),
  /** What is recorded after each state, how much of it before the crash, and how the earlier process ends. */
  parts: fc.array(
    fc.record({
      calls: fc.array(call, { minLength: 1, maxLength: 12 }),
      doneBeforeCrash: fc.nat({ max: 12 }),
      ending: fc.constantFrom('crash', 'flush and crash', 'failed', 'interrupted'),
      again: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

test('quark: any interleaving of records, states and crashes reads as if nothing had happened', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ before, parts }) => {
      const store = await openMemoryStorage(`memory:${randomUUID()}`);
      const config = { provider: 'quark', storage: store, project: 'p' } as const;
      const whole = await openTracker(config);
      let tracker = await openTracker(config);
      await perform(whole, before);
      await perform(tracker, before);
      for (const { again, calls, doneBeforeCrash, ending } of parts) {
        const state = JSON.parse(JSON.stringify(await tracker.state())) as TrackerState;
        for (let time = 0; time < (again ? 2 : 1); time++) {
          await perform(tracker, calls.slice(0, doneBeforeCrash));
          if (ending === 'failed' || ending === 'interrupted') await tracker.close(ending);
          else {
            if (ending === 'flush and crash') await tracker.flush();
            await crash(store, tracker.runId ?? '');
          }
          tracker = await openTracker({ ...config, resume: state });
          expect(tracker.step).toBe(state.step);
        }
        await perform(tracker, calls);
        await perform(whole, calls);
      }
      await tracker.close();
      await whole.close();
      expect(await recordsOf(store, tracker.runId ?? '')).toEqual(
        await recordsOf(store, whole.runId ?? ''),
      );
    }),
    runs(60),
  );
}, 120_000);

test('tensorboard: the event file of a resumed run is that of one that was not interrupted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quark-tracker-'));
  const eventsOf = async (runId: string): Promise<unknown> => {
    const [name = ''] = readdirSync(join(folder, runId));
    const { report, runs: found } = await importText({
      [name]: new Uint8Array(readFileSync(join(folder, runId, name))),
    });
    expect(report.problems).toEqual([]);
    const [run] = found;
    if (run === undefined) return undefined;
    const { records } = await readArtifacts(run.reader);
    return {
      metrics: run.metrics,
      // Those of one batch come by kind.
      artifacts: records
        .map(({ artifactKey, artifactType, sha256, step }) =>
          JSON.stringify([artifactKey, artifactType, sha256, step]),
        )
        .sort(),
    };
  };
  try {
    await fc.assert(
      fc.asyncProperty(story, async ({ before, parts }) => {
        const config = { provider: 'tensorboard', directory: folder, project: 'p' } as const;
        const whole = await openTracker(config);
        let tracker = await openTracker(config);
        await perform(whole, before);
        await perform(tracker, before);
        for (const { calls, doneBeforeCrash } of parts) {
          const state = JSON.parse(JSON.stringify(await tracker.state())) as TrackerState;
          await perform(tracker, calls.slice(0, doneBeforeCrash));
          await tracker.close('failed');
          tracker = await openTracker({ resume: state });
          await perform(tracker, calls);
          await perform(whole, calls);
        }
        await tracker.close();
        await whole.close();
        expect(tracker.status()).toMatchObject({ state: 'working', waiting: 0 });
        expect(await eventsOf(tracker.runId ?? '')).toEqual(await eventsOf(whole.runId ?? ''));
      }),
      runs(20),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);

test('quark over HTTP: the run of a service goes on from a state as one of a store at hand does', async () => {
  const handler = createStoreHandler({ writable: true });
  await fc.assert(
    fc.asyncProperty(story, async ({ before, parts }) => {
      const served = await openMemoryStorage(`memory:${randomUUID()}`);
      const storage = await openHttpStorage('http://quark.example', {
        fetch: (request) => handler.handle(request, { store: served }),
      });
      const config = { provider: 'quark', storage, project: 'p' } as const;
      const whole = await openTracker(config);
      let tracker = await openTracker(config);
      await perform(whole, before);
      await perform(tracker, before);
      for (const { again, calls, doneBeforeCrash, ending } of parts) {
        const state = JSON.parse(JSON.stringify(await tracker.state())) as TrackerState;
        for (let time = 0; time < (again ? 2 : 1); time++) {
          await perform(tracker, calls.slice(0, doneBeforeCrash));
          if (ending === 'failed' || ending === 'interrupted') await tracker.close(ending);
          else {
            if (ending === 'flush and crash') await tracker.flush();
            await crash(served, tracker.runId ?? '');
          }
          tracker = await openTracker({ ...config, resume: state });
        }
        await perform(tracker, calls);
        await perform(whole, calls);
      }
      await tracker.close();
      await whole.close();
      expect(await recordsOf(storage, tracker.runId ?? '')).toEqual(
        await recordsOf(storage, whole.runId ?? ''),
      );
    }),
    runs(20),
  );
}, 120_000);
