/**
 * What the fixtures of `test/fixtures/before-rooms` are made of, by public names only, so that an earlier build can run it as
 * well: a recording with every table, everything that a store tells of it, and requests to a service.
 */
import { createHash } from 'node:crypto';
import {
  createKernels,
  EventLogger,
  MetricsLogger,
  openRun,
  TrainingSession,
  type Clock,
  type Store,
  type StoredRun,
} from 'quark-sdk';
import { AnalyzerEngine, PhaseAnalyzer } from 'quark-sdk/analysis';
import {
  exportEventsJsonLines,
  exportMetricsArrow,
  exportMetricsCsv,
  exportMetricsJsonLines,
  exportMlflow,
  exportQuark,
  exportTableArrow,
  exportTableCsv,
  exportTableJsonLines,
  exportTableParquet,
  exportTensorBoard,
  TABLE_NAMES,
} from 'quark-sdk/exchange';
import {
  ArtifactStore,
  DataDiagnostics,
  HookEngine,
  MappingBatchMetadataAdapter,
  ParameterDiagnostics,
  SystemTelemetry,
  type LayerWatch,
  type ModelSource,
  type ParameterWatch,
} from 'quark-sdk/probes';

/** When everything happens: time goes on only where {@link Fixed.advance} says so. */
export const START_MS = 1_760_000_000_000;

/** Time and randomness that are the same in every process. */
export type Fixed = {
  readonly clock: Clock;
  advance(ms: number): void;
  /** Goes on as if so many random bytes had been drawn: what opens may draw more than it did in the build before. */
  drawn(count: number): void;
  restore(): void;
};

/** Sets the clock of this process, and what identifiers are drawn from, until `restore`. */
export function fixTimeAndRandomness(startMs = START_MS): Fixed {
  const { Date: SystemDate, crypto } = globalThis;
  const { random } = Math;
  let nowMs = startMs;
  let drawn = 0;
  const next = (): number => {
    drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0;
    return drawn >>> 8;
  };
  class FixedDate extends SystemDate {
    constructor(...args: readonly []) {
      if (args.length === 0) super(nowMs);
      else super(...args);
    }
    static override now(): number {
      return nowMs;
    }
  }
  Object.defineProperty(globalThis, 'Date', {
    value: FixedDate,
    configurable: true,
    writable: true,
  });
  const getRandomValues = crypto.getRandomValues.bind(crypto);
  const fill = (array: Uint8Array): Uint8Array => array.map(() => next() & 255);
  Object.defineProperty(crypto, 'getRandomValues', {
    configurable: true,
    value: (array: Uint8Array) => {
      array.set(fill(array));
      return array;
    },
  });
  Math.random = () => next() / 2 ** 24;
  return {
    clock: { now: () => nowMs, after: () => () => undefined },
    advance: (ms) => {
      nowMs += ms;
    },
    drawn: (count) => {
      drawn = 0;
      for (let i = 0; i < count; i++) next();
    },
    restore: () => {
      Object.defineProperty(globalThis, 'Date', {
        value: SystemDate,
        configurable: true,
        writable: true,
      });
      Object.defineProperty(crypto, 'getRandomValues', {
        configurable: true,
        value: getRandomValues,
      });
      Math.random = random;
    },
  };
}

/** The same store; what differs from machine to machine is taken out of the documents of runs. */
export function withoutMachine(store: Store): Store {
  const settle = <R extends { readonly id: string; readonly document: string }>(run: R): R => {
    const document = JSON.parse(run.document) as Record<string, unknown>;
    Object.assign(document, {
      environment: { quark_version: '0.1.0', platform: 'somewhere' },
      git_commit: '0123456789abcdef0123456789abcdef01234567',
      run_path: `somewhere/runs/${run.id}`,
    });
    return { ...run, document: JSON.stringify(document) };
  };
  const changed: Pick<Store, 'createRun' | 'updateRun'> = {
    createRun: (run) => store.createRun(settle(run)),
    updateRun: (run: StoredRun) => store.updateRun(settle(run)),
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'createRun' || name === 'updateRun') return changed[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Two layers and their parameters, driven by hand. */
class Network implements ModelSource {
  readonly framework = 'plain';
  readonly layers = [
    { name: 'hidden', type: 'Dense', activation: 'tanh', isLeaf: true },
    { name: 'output', type: 'Dense', isLeaf: true },
  ];
  readonly parameters = ['hidden/kernel', 'hidden/bias', 'output/kernel'].map((name) => ({
    name,
    moduleName: name.split('/')[0] ?? '',
    role: name.endsWith('bias') ? ('bias' as const) : ('weight' as const),
    shape: [4],
    dtype: 'float32',
    optimizerGroup: 'sgd',
  }));
  readonly #values = this.parameters.map((_, at) => Float32Array.of(at, -at, 0.5, 0));
  readonly #layerWatches = new Set<LayerWatch>();
  readonly #parameterWatches = new Set<ParameterWatch>();

  watchLayers(watch: LayerWatch): () => void {
    this.#layerWatches.add(watch);
    return () => this.#layerWatches.delete(watch);
  }

  watchParameters(watch: ParameterWatch): () => void {
    this.#parameterWatches.add(watch);
    return () => this.#parameterWatches.delete(watch);
  }

  readParameter(at: number): { data: Float32Array; shape: readonly number[]; dtype: string } {
    return { data: this.#values[at] ?? new Float32Array(), shape: [4], dtype: 'float32' };
  }

  /** A step: layers give and receive, parameters change. */
  train(step: number): void {
    for (const at of this.layers.keys())
      for (const direction of ['forward', 'backward'] as const)
        for (const watch of this.#layerWatches) {
          if (!watch.isActive || !watch.layers.has(at) || !watch[direction]) continue;
          const callIndex = direction === 'forward' ? watch.beginCall(at) : 0;
          watch.capture(
            { layer: at, direction, callIndex, outputIndex: 0, isTraining: true },
            {
              data: Float32Array.from({ length: 6 }, (_, i) => (i % 3 === 0 ? 0 : (i - step) / 8)),
              shape: [2, 3],
              dtype: 'float32',
            },
          );
        }
    for (const [at, values] of this.#values.entries()) {
      const before = values.slice();
      const gradient = values.map((value) => value / 4 + at / 8);
      for (const [i, slope] of gradient.entries()) values[i] = (values[i] ?? 0) - slope / 16;
      for (const watch of this.#parameterWatches)
        if (watch.isActive && watch.parameters.has(at))
          watch.changed(at, {
            gradient: { data: gradient, shape: [4], dtype: 'float32' },
            before: { data: before, shape: [4], dtype: 'float32' },
          });
    }
  }
}

const STEPS = 45;

/**
 * Records a run of every table, and a short one that fails. Without NaN, whose bits are the engine's choice. Returns their ids.
 */
export async function record(
  store: Store,
  { clock, advance }: Pick<Fixed, 'clock' | 'advance'>,
): Promise<readonly string[]> {
  const common = { storage: withoutMachine(store), clock, handleSignals: false, strictMode: true };
  const first = await TrainingSession.startRun({
    ...common,
    project: 'digits "ä" / ü',
    config: { lr: 0.1, seed: 7, layers: [{ units: 4 }, { units: 2 }], name: 'größer', none: null },
    tags: ['all', 'a b', 'x&y=z'],
  });
  await recordEverything(first, advance);
  await first.endRun('completed');
  advance(1_000);
  const second = await TrainingSession.startRun({
    ...common,
    project: 'digits "ä" / ü',
    config: { lr: 0.2, seed: 7 },
    tags: ['all'],
    parentRunId: first.runId,
  });
  const metrics = new MetricsLogger(second, { nonFinite: 'store' });
  for (let step = 0; step < 20; step++) {
    metrics.log('train/loss', step < 15 ? 1 + step / 4 : Number.POSITIVE_INFINITY, {
      step,
      epoch: 0,
    });
    advance(250);
  }
  await metrics.flush();
  await second.endRun('failed');
  return [first.runId, second.runId];
}

/** Adds what analysis finds in the runs. */
export async function analyze(store: Store, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) {
    const reader = await openRun(store, runId);
    await new AnalyzerEngine(reader).analyze();
    await new PhaseAnalyzer(reader).analyze();
  }
}

async function recordEverything(
  session: TrainingSession,
  advance: (ms: number) => void,
): Promise<void> {
  const metrics = new MetricsLogger(session, { batchSize: 1_000, nonFinite: 'store' });
  const events = new EventLogger(session);
  const telemetry = new SystemTelemetry(session, {
    captureCpu: false,
    captureGpu: false,
    sampleEveryNSteps: 10,
  });
  const network = new Network();
  let workMs = 0;
  const probes = {
    schedule: { everyNSteps: 20 },
    kernels: await createKernels({ workers: 0, kernel: 'js' }),
    now: () => workMs++,
    overheadBudget: null,
  };
  const hooks = new HookEngine(session, network, probes);
  const parameters = new ParameterDiagnostics(session, network, {
    ...probes,
    captureDistributions: true,
    distributionTypes: ['value', 'gradient', 'update'],
    histogramBins: 4,
  });
  const diagnostics = new DataDiagnostics(session, {
    adapter: new MappingBatchMetadataAdapter({ sampleIdKey: 'ids', labelKey: 'labels' }),
  });
  for (let step = 0; step < STEPS; step++) {
    const epoch = Math.floor(step / 20);
    const loss = 2 / (1 + step / 8) + (step === 33 ? 9 : 0) + (step % 7) / 64;
    hooks.step(step, { epoch }, () => network.train(step));
    parameters.snapshot(step, { epoch });
    metrics.logMany({ 'train/loss': loss, 'optimizer/lr': 0.1 }, { step, epoch });
    diagnostics.logBatch(loss, {
      step,
      epoch,
      batch: { ids: [`s-${step}`, `s-${step + 1}`], labels: [step % 2, 1] },
    });
    telemetry.recordStep(step, { epoch, stepTimeMs: 12.5, dataTimeMs: 2, computeTimeMs: 10 });
    advance(125);
    if (step % 20 !== 19) continue;
    metrics.log('val/accuracy', 0.5 + epoch / 8, {
      step,
      epoch,
      description: 'share of right answers',
      metadata: { images: 297, note: '"ä", ü' },
    });
    events.log('epoch_ended', { step, epoch, payload: { epoch, best: epoch === 2 } });
    await metrics.flush();
  }
  metrics.log('train/odd', -0, { step: STEPS });
  metrics.log('train/odd', Number.POSITIVE_INFINITY, { step: STEPS + 1 });
  metrics.log('train/odd', Number.NEGATIVE_INFINITY, { epoch: 9 });
  events.addLog('line one\nline "two" ☃', { identifier: 'Warning' });
  const artifacts = new ArtifactStore(session);
  await artifacts.store(
    'checkpoint',
    'weights',
    Uint8Array.from({ length: 700 }, (_, i) => i & 255),
    {
      step: 40,
      metadata: { layers: 2 },
    },
  );
  await artifacts.store('note', 'plan', { text: 'größer', list: [1, null, 'x'] });
  await artifacts.logHistogram('spread', { bins: [0, 1, 2], counts: [3, 4], step: 59 });
  for (const one of [metrics, events, telemetry, hooks, parameters, diagnostics, artifacts])
    await one.close();
}

/** What a store tells of its runs: documents and manifests. The rows are in what {@link exportsOf} makes. */
export async function contentOf(store: Store, runIds: readonly string[]): Promise<object> {
  const runs: Record<string, object> = {};
  for (const runId of runIds) {
    const tables: Record<string, object> = {};
    for (const table of TABLE_NAMES) {
      const manifests = await store.listSegments({ runId, table });
      if (manifests.length === 0) continue;
      tables[table] = manifests;
    }
    runs[runId] = { stored: await store.findRun(runId), tables };
  }
  return { projects: await store.listProjects(), runs };
}

/** Every export of a run, by the name of its file. */
export async function exportsOf(store: Store, runId: string): Promise<Map<string, Uint8Array>> {
  const reader = await openRun(store, runId);
  const files = new Map<string, Uint8Array>();
  files.set('run.quark', await bytesOf(exportQuark(reader)));
  files.set('run.tfevents', await bytesOf(exportTensorBoard(reader)));
  files.set('metrics-only.csv', await bytesOf(exportMetricsCsv(reader)));
  files.set('metrics-only.jsonl', await bytesOf(exportMetricsJsonLines(reader)));
  files.set('metrics-only.arrow', await bytesOf(exportMetricsArrow(reader)));
  files.set('events-only.jsonl', await bytesOf(exportEventsJsonLines(reader)));
  for (const table of TABLE_NAMES) {
    files.set(`${table}.csv`, await bytesOf(exportTableCsv(reader, table)));
    files.set(`${table}.jsonl`, await bytesOf(exportTableJsonLines(reader, table)));
    files.set(`${table}.arrow`, await bytesOf(exportTableArrow(reader, table)));
    files.set(`${table}.parquet`, await bytesOf(exportTableParquet(reader, table)));
  }
  for await (const { path, pieces } of exportMlflow(reader))
    files.set(`mlflow/${path}`, await bytesOf(pieces));
  return files;
}

/** All bytes of an export. */
export async function bytesOf(pieces: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return new Uint8Array(Buffer.concat(all));
}

/** What stands for bytes that are too many for a fixture. */
export function checksumOf(bytes: Uint8Array): { readonly bytes: number; readonly sha256: string } {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
