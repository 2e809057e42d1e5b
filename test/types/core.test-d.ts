// What an editor tells a user of the core: what is inferred, and what is refused before it runs.
import * as arrow from 'apache-arrow';
import {
  type AnyQuarkError,
  type ErrorCode,
  type EventLogger,
  isQuarkError,
  listRuns,
  type MetricColumns,
  type MetricRecord,
  MetricsLogger,
  openRun,
  openStorage,
  type QuarkError,
  type RunContext,
  type RunReader,
  type RunRecord,
  type RunSummary,
  type StartRunOptions,
  type Store,
  type StoreFailureReason,
  toArrowTable,
  TrainingSession,
} from 'quark-sdk';
import { describe, expectTypeOf, test } from 'vitest';

declare const session: TrainingSession;
declare const metrics: MetricsLogger;
declare const events: EventLogger;
declare const store: Store;
declare const run: RunRecord;

describe('sessions', () => {
  test('a run needs a project and nothing else', () => {
    expectTypeOf<Parameters<typeof TrainingSession.startRun>[0]>().toEqualTypeOf<StartRunOptions>();
    expectTypeOf<{ project: string }>().toExtend<StartRunOptions>();
    // @ts-expect-error the project is missing
    void TrainingSession.startRun({});
    // @ts-expect-error a typing error in an option's name
    void TrainingSession.startRun({ project: 'p', storagedir: '.' });
    // @ts-expect-error configuration is JSON
    void TrainingSession.startRun({ project: 'p', config: { schedule: () => 1 } });
  });

  test('run gives what the work gives', () => {
    const outcome = TrainingSession.run({ project: 'p' }, async ({ runId }) => ({
      runId,
      best: 1,
    }));
    expectTypeOf(outcome).resolves.toEqualTypeOf<{ runId: string; best: number }>();
  });

  test('a run ends in a terminal status only', () => {
    expectTypeOf(session.endRun('failed')).resolves.toEqualTypeOf<RunContext>();
    // @ts-expect-error running is no way to end
    void session.endRun('running');
    expectTypeOf(session.status).toEqualTypeOf<
      'running' | 'completed' | 'failed' | 'interrupted'
    >();
  });

  test('a session is disposable and hands out its store and signal', () => {
    expectTypeOf(session).toExtend<AsyncDisposable>();
    expectTypeOf(session.store).toEqualTypeOf<Store>();
    expectTypeOf(session.signal).toEqualTypeOf<AbortSignal>();
    // @ts-expect-error the id is given, not set
    session.runId = 'other';
  });
});

describe('writers', () => {
  test('a metric is a name and a number at a position', () => {
    expectTypeOf(metrics.log('train/loss', 1, { step: 0 })).toEqualTypeOf<MetricRecord>();
    expectTypeOf(metrics.log('train/loss', 1, { epoch: 0 })).toEqualTypeOf<MetricRecord>();
    // @ts-expect-error a value is a number
    metrics.log('train/loss', '1', { step: 0 });
    // @ts-expect-error metadata is JSON
    metrics.log('train/loss', 1, { step: 0, metadata: { at: Symbol('now') } });
  });

  test('many metrics at once are numbers, too', () => {
    expectTypeOf(metrics.logMany({ loss: 1, accuracy: 0.5 }, { step: 0 })).toEqualTypeOf<void>();
    // @ts-expect-error a value is a number
    metrics.logMany({ loss: null }, { step: 0 });
  });

  test('policies and severities are closed sets', () => {
    // @ts-expect-error drop is no policy
    expectTypeOf(new MetricsLogger(session, { nonFinite: 'drop' })).toEqualTypeOf<MetricsLogger>();
    // @ts-expect-error fatal is no severity
    events.log('user_log', { severity: 'fatal' });
  });
});

describe('reading', () => {
  test('a store, its runs, one of them', () => {
    expectTypeOf(openStorage('memory:')).resolves.toEqualTypeOf<Store>();
    expectTypeOf(listRuns(store)).resolves.toEqualTypeOf<readonly RunSummary[]>();
    expectTypeOf(openRun(store, 'run')).resolves.toEqualTypeOf<RunReader>();
    expectTypeOf(run.endedAt).toEqualTypeOf<string | null>();
    // @ts-expect-error records are immutable
    run.status = 'failed';
  });

  test('columns are typed arrays, and go into an Arrow table by name', () => {
    const columns = {} as MetricColumns;
    expectTypeOf(columns.values).toEqualTypeOf<Float64Array>();
    expectTypeOf(columns.keyIndex).toEqualTypeOf<Int32Array>();
    expectTypeOf(toArrowTable(columns, arrow).getChild('value')?.get(0)).toEqualTypeOf<
      number | null | undefined
    >();
  });
});

test('isQuarkError narrows to the error and to its code', () => {
  const thrown: unknown = new Error('any');
  if (isQuarkError(thrown)) {
    expectTypeOf(thrown).toEqualTypeOf<AnyQuarkError>();
    expectTypeOf(thrown).toExtend<QuarkError>();
    expectTypeOf(thrown.code).toEqualTypeOf<ErrorCode>();
    if (thrown.code === 'invalid_input') {
      expectTypeOf(thrown.details.field).toEqualTypeOf<string | undefined>();
      expectTypeOf(thrown.details.rule).toEqualTypeOf<string | undefined>();
    } else if (thrown.code === 'store_failed')
      expectTypeOf(thrown.details.reason).toEqualTypeOf<StoreFailureReason | undefined>();
  }
  // @ts-expect-error not a code
  expectTypeOf(isQuarkError(thrown, 'no_such_code')).toEqualTypeOf<boolean>();
});
