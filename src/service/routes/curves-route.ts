/**
 * Curves over HTTP: thinned here, so that a page draws a metric of a million samples from some kilobytes. What was worked out is kept
 * for as long as the segments are the same ones.
 */
import type { Hono } from 'hono';
import { checkCount } from '../../base/assert.ts';
import { isQuarkError, RunNotFoundError, SessionStoreError } from '../../base/errors.ts';
import { checkCurveQuery, metricSegments, segmentsOf } from '../../read/curves.ts';
import type { CurveQuery } from '../../store/curves.ts';
import type { SegmentManifest } from '../../store/store.ts';
import {
  jsonBytes,
  queryOf,
  signalOf,
  type WireContext,
  type WireEnvironment,
} from '../http/answers.ts';
import { LOCAL_COMPUTE, partsOf } from '../jobs/jobs.ts';
import { ROUTES } from '../../wire/protocol.ts';
import { SpaceNames } from '../http/space-names.ts';

/** Bytes of the answers that are kept. */
const MAX_KEPT_BYTES = 16 << 20;
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
  const spaces = new SpaceNames();
  app.get(ROUTES.curves, async (context) => {
    const { store, takeRoom, notes, compute = LOCAL_COMPUTE } = context.env.scope;
    const signal = signalOf(context);
    const query = curveQuery(context);
    checkCurveQuery(query);
    const listed = await metricSegments(store, query.runId);
    const manifests = segmentsOf(query, listed);
    if (manifests.length === 0 && (await store.findRun(query.runId)) === undefined)
      throw new RunNotFoundError(query.runId, 'this store');
    // The guarded store has shown these segments to this client. Curves computed for another client of the space are the same.
    const space = spaces.of(context.env.scope);
    const answer = await memory.once(fingerprint(space, query, manifests), signal, async () => {
      takeRoom?.(READING_BYTES + query.buckets * BYTES_PER_BUCKET);
      const task = compute.start(
        { name: 'curves', query, listed },
        { store, notes, onFailure, signal },
      );
      for await (const part of partsOf(task)) return part;
      throw new SessionStoreError('failed', 'The curves could not be computed.');
    });
    return jsonBytes(context, answer);
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

/**
 * The query and the bytes it is about. A checksum of each segment stands for its bytes within one space only: it has 32
 * bits, so an attacker finds other bytes with the same checksum.
 */
function fingerprint(
  space: string,
  query: CurveQuery,
  manifests: readonly SegmentManifest[],
): string {
  const segments = manifests.map(
    ({ writerId, batchNumber, checksum, firstSequence }) =>
      `${writerId}/${batchNumber}/${checksum}/${firstSequence}`,
  );
  return JSON.stringify([space, query, segments]);
}

type Answer = Uint8Array<ArrayBuffer>;

/** The answers that were used last. */
class CurveMemory {
  readonly #answers = new Map<string, { answer: Promise<Answer>; size: number }>();
  #size = 0;

  async once(key: string, signal: AbortSignal, work: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const known = this.#answers.get(key);
      if (known === undefined) return this.#make(key, work);
      this.#answers.delete(key);
      this.#answers.set(key, known);
      try {
        return await known.answer;
      } catch (error) {
        // The one who asked first has left or may ask no more; who waits for the same makes it then.
        if (signal.aborted || !(isQuarkError(error, 'aborted') || isOwnRefusal(error))) throw error;
      }
    }
  }

  async #make(key: string, work: () => Promise<Answer>): Promise<Answer> {
    const entry = { answer: work(), size: 0 };
    this.#answers.set(key, entry);
    try {
      const answer = await entry.answer;
      entry.size = key.length + answer.byteLength;
      this.#size += entry.size;
      this.#trim();
      return answer;
    } catch (error) {
      if (this.#answers.get(key) === entry) this.#answers.delete(key);
      throw error;
    }
  }

  #trim(): void {
    for (const [key, { size }] of this.#answers) {
      if (this.#size <= MAX_KEPT_BYTES) return;
      // One that is being worked out has no size yet.
      if (size === 0) continue;
      this.#answers.delete(key);
      this.#size -= size;
    }
  }
}

/** A refusal of one client. It is not shared with others who asked for the same curves. */
function isOwnRefusal(error: unknown): boolean {
  return isQuarkError(error, 'store_failed') && error.details['reason'] === 'busy';
}
