/**
 * Curves over HTTP: thinned here, so that a page draws a metric of a million samples from some kilobytes. What was worked out is kept
 * for as long as the segments are the same ones.
 */
import type { Hono } from 'hono';
import { checkCount } from '../base/assert.ts';
import { RunNotFoundError } from '../base/errors.ts';
import { checkCurveQuery, metricSegments, readCurves, segmentsOf } from '../read/curves.ts';
import type { CurveQuery } from '../store/curves.ts';
import type { SegmentManifest } from '../store/store.ts';
import { json, queryOf, type WireContext, type WireEnvironment } from './answers.ts';
import { encodeCurves } from './curve-messages.ts';
import { ROUTES } from './protocol.ts';

/** Numbers in the answers that are kept, about 16 bytes each. */
const MAX_KEPT_NUMBERS = 1 << 20;
/** Held for a part of a curve while segments are read. */
const BYTES_PER_BUCKET = 350;
/** Held for segments that are being opened. */
const READING_BYTES = 32 << 20;

const PARAMETERS = ['buckets', 'step_min', 'step_max', 'rows_min'];

/** Adds the route that gives out curves. */
export function addCurvesRoute(
  app: Hono<WireEnvironment>,
  onFailure: (error: unknown) => void,
): void {
  const memory = new CurveMemory();
  app.get(ROUTES.curves, async (context) => {
    const { store, takeRoom, notes } = context.env.scope;
    const query = curveQuery(context);
    checkCurveQuery(query);
    const listed = await metricSegments(store, query.runId);
    const manifests = segmentsOf(query, listed);
    if (manifests.length === 0 && (await store.findRun(query.runId)) === undefined)
      throw new RunNotFoundError(query.runId, 'this store');
    // Whoever gets here may see these segments; what was made of the same bytes for somebody else is the same.
    const answer = await memory.once(fingerprint(query, manifests), async () => {
      takeRoom?.(READING_BYTES + query.buckets * BYTES_PER_BUCKET);
      return encodeCurves(await readCurves(store, query, { listed, notes, onFailure }));
    });
    return json(context, answer);
  });
}

function curveQuery(context: WireContext): CurveQuery {
  const given = queryOf(context, PARAMETERS, ['key']);
  const number = (name: string): number | undefined => {
    const text = given[name]?.[0];
    if (text === undefined) return undefined;
    return checkCount(name, /^\d{1,16}$/.test(text) ? Number(text) : text);
  };
  const stepMin = number('step_min');
  const stepMax = number('step_max');
  const rowsMin = number('rows_min');
  return {
    runId: context.req.param('runId') ?? '',
    buckets: number('buckets') ?? DEFAULT_BUCKETS,
    ...(given['key'] === undefined ? {} : { metricKeys: given['key'] }),
    ...(stepMin === undefined ? {} : { stepMin }),
    ...(stepMax === undefined ? {} : { stepMax }),
    ...(rowsMin === undefined ? {} : { rowsMin }),
  };
}

/** Without a word: about a screen. */
const DEFAULT_BUCKETS = 1_000;

/** The query and the bytes it is about, which a checksum of each segment stands for. */
function fingerprint(query: CurveQuery, manifests: readonly SegmentManifest[]): string {
  const segments = manifests.map(
    ({ writerId, batchNumber, checksum, firstSequence }) =>
      `${writerId}/${batchNumber}/${checksum}/${firstSequence}`,
  );
  return JSON.stringify([query, segments]);
}

/** The answers that were used last. */
class CurveMemory {
  readonly #answers = new Map<string, { answer: Promise<object>; size: number }>();
  #size = 0;

  async once(key: string, work: () => Promise<object>): Promise<object> {
    const known = this.#answers.get(key);
    if (known !== undefined) {
      this.#answers.delete(key);
      this.#answers.set(key, known);
      return known.answer;
    }
    const entry = { answer: work(), size: 0 };
    this.#answers.set(key, entry);
    try {
      const answer = await entry.answer;
      entry.size = key.length / 8 + numbersIn(answer);
      this.#size += entry.size;
      this.#trim();
      return answer;
    } catch (error) {
      this.#answers.delete(key);
      throw error;
    }
  }

  #trim(): void {
    for (const [key, { size }] of this.#answers) {
      if (this.#size <= MAX_KEPT_NUMBERS) return;
      // One that is being worked out has no size yet.
      if (size === 0) continue;
      this.#answers.delete(key);
      this.#size -= size;
    }
  }
}

function numbersIn(value: unknown): number {
  if (Array.isArray(value) && typeof value[0] !== 'object') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, item) => sum + numbersIn(item), 0);
}
