/** Segments of metrics as writers make them, for the benchmarks of the service. */
import { metricTable } from '../../src/records/metric.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { Vector } from '../../src/codecs/arrow/vectors.ts';
import type { NewSegment, SegmentIdentity, Store } from '../../src/store/store.ts';

/** A point as JSON says it. */
export type Point = {
  readonly key: string;
  readonly value: number;
  readonly step: number;
  readonly timestamp: number;
};

/** The segment of these points. */
export function segmentOfPoints(identity: SegmentIdentity, points: readonly Point[]): NewSegment {
  const keys = [...new Set(points.map((point) => point.key))];
  const column = (pick: (point: Point) => number): Float64Array => Float64Array.from(points, pick);
  const indices = Int32Array.from(points, (point) => keys.indexOf(point.key));
  return createSegment(metricTable, identity, {
    rowCount: points.length,
    columns: new Map<string, Vector>([
      ['timestamp', { kind: 'number', values: column((point) => point.timestamp) }],
      ['metric_key', { kind: 'key', dictionary: keys, indices }],
      ['value', { kind: 'f64', values: column((point) => point.value), isNull: null }],
      ['step', { kind: 'number', values: column((point) => point.step) }],
    ]),
  });
}

/** `count` points of `metrics` metrics, step by step. */
export function pointsFrom(firstStep: number, count: number, metrics: number): readonly Point[] {
  return Array.from({ length: count }, (_, i) => ({
    key: `train/metric_${i % metrics}`,
    value: Math.sin(firstStep + i) / (1 + i),
    step: firstStep + Math.floor(i / metrics),
    timestamp: 1_760_000_000_000 + 100 * (firstStep + Math.floor(i / metrics)),
  }));
}

/** The segment of a batch: `count` points of `metrics` metrics, made without an object for each. */
export function segmentOfBatch(
  runId: string,
  batchNumber: number,
  count: number,
  metrics: number,
): NewSegment {
  const firstStep = batchNumber * Math.ceil(count / metrics);
  const steps = new Float64Array(count);
  const indices = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    steps[i] = firstStep + Math.floor(i / metrics);
    indices[i] = i % metrics;
  }
  return createSegment(
    metricTable,
    { runId, table: 'metrics', writerId: 'bench', batchNumber },
    {
      rowCount: count,
      columns: new Map<string, Vector>([
        [
          'timestamp',
          { kind: 'number', values: steps.map((step) => 1_760_000_000_000 + 100 * step) },
        ],
        ['metric_key', { kind: 'key', dictionary: namesOf(metrics), indices }],
        [
          'value',
          { kind: 'f64', values: steps.map((step, i) => Math.sin(step + i)), isNull: null },
        ],
        ['step', { kind: 'number', values: steps }],
      ]),
    },
  );
}

const names = new Map<number, readonly string[]>();

/** Names of metrics, the same list for the same number. */
export function namesOf(metrics: number): readonly string[] {
  const made = names.get(metrics) ?? Array.from({ length: metrics }, (_, i) => `train/metric_${i}`);
  names.set(metrics, made);
  return made;
}

/** Adds a run of this id, with what lists are filtered by. */
export async function addRun(
  store: Store,
  id: string,
  about: {
    readonly status?: string;
    readonly tags?: readonly string[];
    readonly startedAtMs?: number;
  } = {},
): Promise<void> {
  const startedAtMs = about.startedAtMs ?? 1_760_000_000_000;
  const project = await store.ensureProject({ id: 'prj_bench', name: 'bench', createdAtMs: 1 });
  const { status = 'running', tags = [] } = about;
  await store.createRun({
    id,
    projectId: project.id,
    projectName: project.name,
    status,
    startedAtMs,
    tags,
    document: JSON.stringify({ id, project: 'bench', config: { lr: 0.01, layers: [64, 64] } }),
  });
}
