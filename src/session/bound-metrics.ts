/** A logger of metrics with a position and a context that need not be repeated. */
import { checkCount, checkOptionNames, isGiven } from '../base/assert.ts';
import { contextText, type MetricContext } from '../base/series-key.ts';
import type { MetricRecord } from '../read/metric-record.ts';
import { checkMetricOptions } from './wrong-calls.ts';
import type { LogMetricOptions, MetricPosition, MetricsLogger } from './metrics-logger.ts';

/**
 * A {@link MetricsLogger} with a position and a context. It has no rows of its own: what it logs is buffered, flushed and closed with
 * the logger that it was made of.
 *
 * @example
 * ```js
 * import { endRun, MetricsLogger, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const metrics = new MetricsLogger(session);
 * const val = metrics.withContext({ subset: 'val' }).at({ epoch: 3 }); // a BoundMetrics
 * const { metricKey, epoch } = val.log('loss', 0.31);
 * console.log(metricKey, epoch); // loss {subset=val} 3
 * val.logMany({ accuracy: 0.9, f1: 0.88 });
 * await endRun(session);
 * ```
 */
export class BoundMetrics {
  readonly #logger: MetricsLogger;
  readonly #bound: LogMetricOptions;

  /** @internal Use `at` and `withContext` of a logger. */
  constructor(logger: MetricsLogger, bound: LogMetricOptions = {}) {
    this.#logger = logger;
    this.#bound = Object.freeze(bound);
  }

  /**
   * The same with this position instead of the one before.
   *
   * @throws {QuarkError} `invalid_input`
   */
  at(position: MetricPosition): BoundMetrics {
    checkOptionNames('position', position, ['step', 'epoch']);
    const { step, epoch } = position;
    if (isGiven(step)) checkCount('step', step);
    if (isGiven(epoch)) checkCount('epoch', epoch);
    return new BoundMetrics(this.#logger, { ...this.#bound, step, epoch });
  }

  /**
   * The same with these entries added to the context, in the place of entries of the same name.
   *
   * @throws {QuarkError} `invalid_input`
   */
  withContext(context: MetricContext): BoundMetrics {
    contextText(context);
    const merged = Object.freeze({ ...this.#bound.context, ...context });
    return new BoundMetrics(this.#logger, { ...this.#bound, context: merged });
  }

  /**
   * Records one sample. What `options` name has priority over what is bound; entries of a context are added to those that are bound.
   *
   * @throws {QuarkError} as {@link MetricsLogger.log}
   */
  log(metric: string, value: number, options?: LogMetricOptions): MetricRecord {
    return this.#logger.log(metric, value, this.#with(options));
  }

  /**
   * Records several metrics of one moment. Either all are recorded or none.
   *
   * @throws {QuarkError} as {@link MetricsLogger.log}
   */
  logMany(values: Readonly<Record<string, number>>, options?: LogMetricOptions): void {
    this.#logger.logMany(values, this.#with(options));
  }

  #with(options: LogMetricOptions | undefined): LogMetricOptions {
    if (options === undefined) return this.#bound;
    checkMetricOptions(options);
    const { step, epoch, ...bound } = this.#bound;
    const isPlaced =
      isGiven(options.step) || isGiven(options.epoch) || options.position !== undefined;
    return {
      ...bound,
      ...(isPlaced ? {} : { step, epoch }),
      ...options,
      context: isGiven(options.context) ? { ...bound.context, ...options.context } : bound.context,
    };
  }
}
