/** Folds what a run brings and asks the rules about it: in a worker, and on the calling thread where there is none. */
import { messageOf } from '../../base/errors.ts';
import { checkPosition } from '../../read/filters.ts';
import { readSeries } from '../../read/metric-series.ts';
import { readLayerColumns, readParameterColumns } from '../../read/tables.ts';
import type { SegmentSource } from '../../store/store.ts';
import { emptyColumns } from '../columns/empty-columns.ts';
import { batchColumns, layerSeries, parameterSeries } from '../columns/grouped-series.ts';
import { readBatchTable, readTelemetryTable } from '../columns/load-run-columns.ts';
import type { RunInfo } from '../columns/run-columns.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import { LiveColumns } from './live-columns.ts';
import { LiveRules, type RuleMemory } from './live-rules.ts';
import type { LiveAnswer, LiveRequest, SegmentBatch } from './messages.ts';

export class LiveEvaluator {
  readonly #live: LiveColumns;
  readonly #rules: LiveRules;
  readonly #turn: (() => Promise<void>) | undefined;
  #run: RunInfo = emptyColumns().run;
  /** Rows of probes that no rule has been asked about. */
  #probes = 0;

  /**
   * @param memory what the rules knew before, of one that has died
   * @param turn lets everything else have its turn; left out where there is nothing else
   */
  constructor(
    settings: AnalyzerSettings,
    memory: RuleMemory | undefined,
    turn?: () => Promise<void>,
  ) {
    const { lossSpikeMinRatio, lossSpikeScore } = settings.thresholds;
    this.#live = new LiveColumns({ threshold: lossSpikeScore, ratio: lossSpikeMinRatio });
    this.#rules = new LiveRules(settings, memory, turn);
    this.#turn = turn;
  }

  /** Folds the batches, whose bytes lie in `buffer`, and evaluates the rules. Never rejects. */
  async take({ question, batches }: LiveRequest, buffer: ArrayBufferLike): Promise<LiveAnswer> {
    let rows = 0;
    let failure: string | null = null;
    const asked = this.#rules.evaluations;
    let found: LiveAnswer['found'] = [];
    try {
      for (const batch of batches) {
        const count = await this.#fold(batch, sourceOf(batch, buffer));
        if (!batch.isKnown) rows += count;
        if (batches.length > 1) await this.#turn?.();
      }
    } catch (error) {
      failure = messageOf(error);
    }
    try {
      if (question !== undefined) {
        this.#run = question.run ?? this.#run;
        const isUrgent = question.isUrgent || this.#probes > 0;
        this.#probes = 0;
        const all = await this.#rules.evaluate(this.#live, this.#run, question.nowMs, isUrgent);
        found = all.map(({ finding, rule }) => ({ ruleId: rule.id, finding }));
      }
    } catch (error) {
      failure ??= messageOf(error);
    }
    const isEvaluated = this.#rules.evaluations > asked;
    const { memory, problems } = this.#rules;
    return { rows, found, isEvaluated, memory, problems, failure };
  }

  /** Returns how many rows there were. */
  async #fold(batch: SegmentBatch, source: SegmentSource): Promise<number> {
    const { isKnown, segments, sequenceMin, table } = batch;
    const run = { store: source, runId: segments[0]?.manifest.runId ?? '' };
    const position = { sequenceMin };
    switch (table) {
      case 'metrics': {
        const { rowCount, series } = await readSeries(run, position);
        this.#live.addMetrics(series);
        if (isKnown) this.#live.forgetSpikes();
        return rowCount;
      }
      case 'layer_summaries': {
        const columns = await readLayerColumns(run, position);
        this.#live.addLayers(layerSeries(columns));
        if (!isKnown) this.#probes += columns.rowCount;
        return columns.rowCount;
      }
      case 'parameter_summaries': {
        const columns = await readParameterColumns(run, position);
        this.#live.addParameters(parameterSeries(columns));
        if (!isKnown) this.#probes += columns.rowCount;
        return columns.rowCount;
      }
      case 'telemetry': {
        const read = await readTelemetryTable(run, checkPosition(position, []));
        this.#live.addTelemetry(read.columns);
        return read.rowCount;
      }
      case 'batch_diagnostics': {
        const read = await readBatchTable(run, checkPosition(position, []));
        this.#live.addBatches(batchColumns(read));
        return read.rowCount;
      }
    }
  }
}

/** The segments of a batch as something to read from. */
function sourceOf({ segments }: SegmentBatch, buffer: ArrayBufferLike): SegmentSource {
  const ranges = new Map<unknown, { readonly byteOffset: number; readonly byteLength: number }>(
    segments.map((segment) => [segment.manifest, segment]),
  );
  return {
    listSegments: async () => segments.map(({ manifest }) => manifest),
    readSegments: async (wanted) =>
      wanted.map((manifest) => {
        const range = ranges.get(manifest);
        if (range === undefined || range.byteLength === 0)
          return { kind: 'damaged', reason: 'its bytes could not be read' };
        const bytes = new Uint8Array(range.byteLength);
        bytes.set(new Uint8Array(buffer, range.byteOffset, range.byteLength));
        return { kind: 'bytes', bytes };
      }),
  };
}
