/** Small curves of many runs over HTTP. What was computed of a run is answered again as long as its segments are the same. */
import { SessionStoreError } from '../../base/errors.ts';
import { metricSegments } from '../../read/curves.ts';
import {
  checkSparklineQuery,
  DEFAULT_SPARKLINE_POINTS,
  sparklineOrNone,
} from '../../read/finding/sparklines.ts';
import type { SparklineQuery } from '../../store/curves.ts';
import type { Fields } from '../../wire/wire.ts';
import { signalOf } from '../http/answers.ts';
import { LOCAL_COMPUTE, partsOf } from '../jobs/jobs.ts';
import { curvesName } from './curves-route.ts';
import type { StoreAsked, StoreRouteParts } from './store-routes.ts';

/** Reserved for the segments that are read at the same time. */
const READING_BYTES = 32 << 20;
/** Runs whose curves are made at the same time: one request must not take all threads. */
const RUNS_AT_ONCE = 4;

/** Small curves of the runs that this client may see. */
export async function answerSparklines(
  { context, scope, body }: StoreAsked<'POST /tables/curves'>,
  { curves, onFailure }: StoreRouteParts,
): Promise<object> {
  const query = decodeSparklineQuery(await body());
  checkSparklineQuery(query);
  const { store, takeRoom, notes, compute = LOCAL_COMPUTE } = scope;
  const signal = signalOf(context);
  const { runIds, ...drawn } = query;
  takeRoom?.(READING_BYTES);
  const ofRun = async (runId: string): Promise<Uint8Array> => {
    const listed = await metricSegments(store, runId);
    if (listed.length === 0) return new Uint8Array(0);
    const name = curvesName(curves.spaceOf(scope), { runId, ...drawn }, listed);
    return curves.once(`small ${name}`, signal, async () => {
      const job = { name: 'sparkline', runId, query: drawn, listed } as const;
      const task = compute.start(job, { store, notes, onFailure, signal });
      for await (const part of partsOf(task)) return part;
      throw new SessionStoreError('failed', 'The curve could not be computed.');
    });
  };
  const found: unknown[] = [];
  for (let at = 0; at < runIds.length; at += RUNS_AT_ONCE) {
    const some = runIds.slice(at, at + RUNS_AT_ONCE);
    const answers = await Promise.all(some.map((id) => sparklineOrNone(() => ofRun(id))));
    for (const bytes of answers)
      if (bytes !== undefined && bytes.byteLength > 0)
        found.push(JSON.parse(new TextDecoder().decode(bytes)));
  }
  return { curves: found };
}

function decodeSparklineQuery(fields: Fields): SparklineQuery {
  const given = (name: string): boolean => fields.get(name) !== undefined;
  return {
    runIds: fields.texts('run_ids'),
    ...(given('metric_key') ? { metricKey: fields.text('metric_key') } : {}),
    points: given('points') ? fields.count('points') : DEFAULT_SPARKLINE_POINTS,
  };
}
