import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exportMetricsArrow } from '../../../src/exchange/export/metrics-export.ts';
import { bytesInput } from '../../../src/codecs/input.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { damaged, damages } from '../../support/damage.ts';
import { bytesOf } from '../../support/event-file.ts';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';

type Sample = {
  readonly key: string;
  readonly value: number;
  readonly step: number | undefined;
  readonly epoch: number;
};

async function exported(samples: readonly Sample[]) {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'p',
    storage: store,
    handleSignals: false,
  });
  const logger = new MetricsLogger(session);
  for (const { key, value, step, epoch } of samples)
    logger.log(key, value, step === undefined ? { epoch } : { step, epoch });
  await session.endRun();
  const reader = await openRun(store, session.runId);
  const pieces: Uint8Array[] = [];
  for await (const piece of exportMetricsArrow(reader)) pieces.push(piece);
  return { bytes: bytesOf(...pieces), columns: await reader.readMetricColumns() };
}

describe("Quark's Arrow export", () => {
  test('comes back bit for bit, with the same keys', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            key: fc.constantFrom('loss', 'train/loss', 'lr', 'eval/acc', 'x.y-z'),
            value: fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -0)),
            step: fc.option(fc.nat(2 ** 45), { nil: undefined }),
            epoch: fc.nat(100),
          }),
          { minLength: 1, maxLength: 40 },
        ),
        async (samples) => {
          const { bytes, columns } = await exported(samples);
          const { report, reader } = await imported([bytesInput('run/metrics.arrow', bytes)]);
          expect(report.problems).toEqual([]);
          expect(report.runs).toMatchObject([{ format: 'quark_arrow', name: 'run' }]);
          expect(await reader?.readMetricColumns()).toEqual(columns);
        },
      ),
      runs(50),
    );
  });

  test('with any damage settles, and gives problems instead of errors', async () => {
    const { bytes } = await exported([
      { key: 'loss', value: 1, step: 1, epoch: 0 },
      { key: 'lr', value: 2, step: undefined, epoch: 3 },
    ]);
    await fc.assert(
      fc.asyncProperty(damages, async (changes) => {
        const { report } = await imported([bytesInput('x.arrow', damaged(bytes, changes))], {
          format: 'quark_arrow',
        });
        expect(report.runs.length + report.problems.length).toBeGreaterThan(0);
      }),
      runs(1000),
    );
  }, 120_000);
});
