/** An MLflow file store of a run: its layout, and what our own importer reads from it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exportMlflow, type ExportMlflowOptions } from '../../../src/exchange.ts';
import { openRun, type RunReader } from '../../../src/read/run-reader.ts';
import { ArtifactStore } from '../../../src/instruments/artifacts/artifact-store.ts';
import { EventLogger } from '../../../src/session/event-logger.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { importText } from '../../support/imported.ts';
import { runs } from '../../support/property.ts';
import { bytesOf } from '../../support/recorded-run.ts';

async function recorded(
  config: JsonObject,
  work: (metrics: MetricsLogger, session: TrainingSession) => Promise<void> | void,
): Promise<RunReader> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    handleSignals: false,
    config,
    tags: ['best'],
  });
  await work(new MetricsLogger(session), session);
  await session.endRun();
  return openRun(store, session.runId);
}

async function files(
  reader: RunReader,
  options: ExportMlflowOptions = {},
): Promise<Record<string, Uint8Array<ArrayBuffer>>> {
  const found: Record<string, Uint8Array<ArrayBuffer>> = {};
  for await (const { path, pieces } of exportMlflow(reader, options)) {
    expect(found[path]).toBeUndefined();
    found[`mlruns/${path}`] = await bytesOf(pieces);
  }
  return found;
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

test('has the layout of MLflow', async () => {
  const reader = await recorded(
    { lr: 0.1, optimizer: { name: 'adam', betas: [0.9, 0.99] }, amp: true, seed: null, 'a/b': 1 },
    async (metrics, session) => {
      metrics.log('train/loss', 0.5, { step: 1 });
      metrics.log('train', 1, { epoch: 3 });
      metrics.log('train/loss', Number.NaN, { step: 2 });
      await new ArtifactStore(session).store('checkpoint', 'weights', Uint8Array.of(1, 2, 3));
      new EventLogger(session).log('checkpoint_saved');
    },
  );
  const { id } = reader.run;
  const found = await files(reader, { root: 'file:///srv/mlruns/' });
  const experiment = Object.keys(found)[0]?.split('/')[1] ?? '';
  expect(experiment).toMatch(/^\d{18}$/);
  const base = `mlruns/${experiment}/${id}`;
  const artifact = Object.keys(found).find((path) => path.endsWith('payload.bin')) ?? '';
  const paths = Object.keys(found).filter((path) => !path.endsWith('git.commit'));
  expect(paths.toSorted()).toEqual(
    [
      `mlruns/${experiment}/meta.yaml`,
      `${base}/meta.yaml`,
      `${base}/metrics/train/loss`,
      `${base}/metrics/train_`,
      `${base}/params/a_b`,
      `${base}/params/amp`,
      `${base}/params/lr`,
      `${base}/params/optimizer.betas`,
      `${base}/params/optimizer.name`,
      `${base}/params/seed`,
      `${base}/tags/mlflow.runName`,
      `${base}/tags/quark.tags`,
      `${base}/artifacts/quark/artifacts.jsonl`,
      `${base}/artifacts/quark/environment.json`,
      `${base}/artifacts/quark/events.jsonl`,
      artifact,
    ].toSorted(),
  );
  expect(artifact).toMatch(new RegExp(`^${base}/artifacts/weights/art_\\w+/payload\\.bin$`));
  expect(found[artifact]).toEqual(Uint8Array.of(1, 2, 3));
  expect(text(found[`${base}/metrics/train/loss`])).toMatch(/^\d{13} 0\.5 1\n\d{13} nan 2\n$/);
  expect(text(found[`${base}/metrics/train_`])).toMatch(/^\d{13} 1 3\n$/);
  expect(text(found[`${base}/params/amp`])).toBe('True');
  expect(text(found[`${base}/params/seed`])).toBe('None');
  expect(text(found[`${base}/params/optimizer.betas`])).toBe('[0.9,0.99]');
  const meta = text(found[`${base}/meta.yaml`]);
  expect(meta).toContain(`artifact_uri: "file:///srv/mlruns/${experiment}/${id}/artifacts"\n`);
  expect(meta).toContain('lifecycle_stage: "active"\n');
  expect(meta).toContain('status: 3\n');
  expect(text(found[`mlruns/${experiment}/meta.yaml`])).toContain('name: "digits"\n');
});

test('comes back through our importer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          key: fc.constantFrom('train/loss', 'val/acc', 'other.metric-1'),
          value: fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, -0)),
          step: fc.nat(1e9),
        }),
        { minLength: 1, maxLength: 30 },
      ),
      fc.dictionary(
        fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/),
        fc.oneof(
          fc.boolean(),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc
            .stringMatching(/^[a-z][a-z ]{0,9}[a-z]$/)
            .filter((word) => !/^(?:true|false|null|none|yes|no|on|off|nan|inf)$/i.test(word)),
        ),
        { maxKeys: 5 },
      ),
      async (samples, config) => {
        const reader = await recorded(config, (metrics) => {
          for (const { key, value, step } of samples) metrics.log(key, value, { step });
        });
        const { report, runs: found } = await importText(await files(reader));
        expect(report.problems).toMatchObject([
          { reason: expect.stringMatching(/^Artifacts are left out/) },
        ]);
        expect(report.runs).toMatchObject([
          { format: 'mlflow', name: reader.run.id, project: 'digits' },
        ]);
        const [back] = found;
        for (const key of new Set(samples.map((sample) => sample.key))) {
          const expected = samples.filter((sample) => sample.key === key);
          const place = expected.length > 1 && expected.every(({ step }) => step === 0);
          const original = back?.metrics[back.keys[key] ?? ''];
          expect(original).toEqual(
            expected.map(({ step, value }, i) => [place ? i : step, null, value]),
          );
        }
        expect(back?.reader.run.config).toEqual(
          Object.fromEntries(
            Object.entries(config).map(([name, value]) => [name, Object.is(value, -0) ? 0 : value]),
          ),
        );
      },
    ),
    {
      ...runs(30),
      // Whole numbers beyond those of which a double has every one.
      examples: [
        [
          [{ key: 'train/loss', value: 0, step: 0 }],
          { a: -(2 ** 53), b: 2 ** 53, c: 2 ** 64, d: 1e20, e: -1e21, f: '9007199254740993' },
        ],
      ],
    },
  );
});

test('options that do not exist are refused', async () => {
  const reader = await recorded({}, () => undefined);
  await expect(files(reader, { folder: 'x' } as object)).rejects.toMatchObject({
    code: 'invalid_input',
  });
  await expect(files(reader, { root: '' })).rejects.toMatchObject({ code: 'invalid_input' });
});
