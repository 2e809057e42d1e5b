/** What recording has taken of the training thread, from the events that say so. */
import type { OverheadPart } from '../base/thread/thread-time.ts';
import type { RunReader } from '../read/run-reader.ts';
import type { EventRecord } from '../records/event.ts';
import { OVERHEAD_EVENT, type OverheadReport } from '../records/overhead.ts';

/**
 * What events of a run say about the time that recording took of the training thread: the last measurement, which has all before it in the
 * same session. Undefined where none of them is an `overhead_measured`.
 *
 * @param events in the order in which they were recorded; those of other types are passed over
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { overheadOf } from 'quark-sdk/profiler';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model);
 *   await model.fit(tf.ones([64, 2]), tf.ones([64, 1]), { epochs: 2, batchSize: 8, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const { share, spentMs } = overheadOf(await reader.readEvents());
 * console.log(`${(100 * share).toFixed(1)} %`, spentMs);
 * ```
 */
export function overheadOf(
  events: readonly Pick<EventRecord, 'eventType' | 'payload'>[],
): OverheadReport | undefined {
  const payload = events.findLast(({ eventType }) => eventType === OVERHEAD_EVENT)?.payload;
  if (payload === undefined) return undefined;
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const spent: unknown = payload['spent_ms'];
  const partOf = (part: OverheadPart): number =>
    typeof spent === 'object' && spent !== null ? number(Reflect.get(spent, part)) : 0;
  return {
    budget: number(payload['overhead_budget']),
    trainingMs: number(payload['training_ms']),
    share: number(payload['share']),
    telemetrySlowdown: number(payload['telemetry_slowdown']),
    spentMs: {
      callback: partOf('callback'),
      log: partOf('log'),
      flush: partOf('flush'),
      batches: partOf('batches'),
      telemetry: partOf('telemetry'),
      probes: partOf('probes'),
    },
  };
}

/**
 * What recording has taken of the training thread by now; undefined for a run that was not recorded by `quarkCallback`.
 *
 * @throws {SessionStoreError} when the store cannot be read
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { readOverhead } from 'quark-sdk/profiler';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model);
 *   await model.fit(tf.ones([64, 2]), tf.ones([64, 1]), { epochs: 2, batchSize: 8, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const { share } = await readOverhead(reader);
 * console.log(share > 0 && share < 1); // true
 * ```
 */
export async function readOverhead(reader: RunReader): Promise<OverheadReport | undefined> {
  return overheadOf(await reader.readEvents({ eventType: OVERHEAD_EVENT, limit: 1 }));
}
