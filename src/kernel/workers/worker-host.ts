/** The worker's side of every kind of worker: something that answers calls, behind two functions, exposed through Comlink. */
import { expose, transfer } from 'comlink';
import {
  isQuarkError,
  messageOf,
  QuarkError,
  type ErrorCode,
  type ErrorDetails,
} from '../../base/errors.ts';
import { nodeEndpoint } from './endpoint.ts';
import { hasWebWorker, nodeThreads } from './machine.ts';
import { RING_MESSAGE } from './ring/ring-memory.ts';
import { serveRing, type RingAnswer } from './ring/serve-ring.ts';
import { answerTransferred, isTransferCall } from './transferred.ts';
import type { Modules } from '../twins.ts';

/** Answers one call about the contents of a buffer. */
export type Execute<C, R> = (call: C, buffer: ArrayBufferLike) => R;

/** An error as it crosses to another thread: Comlink would keep the message alone. */
export type WorkerError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
};

/** The answer of a worker. `buffer` is the memory of the call coming back where it had been transferred. */
export type WorkerReply = {
  readonly outcome:
    | { readonly ok: true; readonly value: unknown }
    | { readonly ok: false; readonly error: WorkerError };
  readonly buffer: ArrayBuffer | undefined;
};

/** What a worker exposes. What crosses between threads has no type but what both sides agree on. */
export type WorkerHost = {
  /**
   * The first message: the compiled modules to run, or null for plain JavaScript. Answers with null, or with the reason why the modules
   * could not be used and plain JavaScript is.
   */
  start(modules: Modules | null): Promise<string | null>;
  run(call: unknown, buffer: ArrayBufferLike): Promise<WorkerReply>;
  /** Serves a ring as its worker number `worker`, until the ring sends it away. */
  serve(buffer: SharedArrayBuffer, worker: number): Promise<void>;
};

/** What a kind of worker does. */
export type WorkerAbility<C> = {
  readonly execute: Execute<C, unknown>;
  /** The jobs of a ring or of a transferred buffer; left out by workers that do none. */
  readonly answer?: RingAnswer;
};

/**
 * Makes this thread a worker. Called once, by the worker's entry file.
 *
 * @param choose makes what answers calls, at once or with a promise, from the modules, or from null in plain JavaScript
 */
export function exposeHost<C>(choose: (modules: Modules | null) => WorkerAbility<C>): void {
  let ability: WorkerAbility<C> | undefined;
  const host: WorkerHost = {
    async start(modules) {
      try {
        ability = choose(modules);
        return null;
      } catch (error) {
        ability = choose(null);
        return messageOf(error);
      }
    },
    async serve(buffer, worker) {
      const { answer } = (ability ??= choose(null));
      if (answer === undefined)
        throw new QuarkError('unsupported', 'This kind of worker serves no ring.');
      serveRing(buffer, worker, answer, tell);
    },
    async run(call, buffer) {
      const { execute, answer } = (ability ??= choose(null));
      const outcome = await attempt(() => {
        if (!isTransferCall(call)) return execute(call as C, buffer); // bytes become types: the pool sends what its host takes
        if (answer === undefined)
          throw new QuarkError('unsupported', 'This kind of worker does no jobs in a buffer.');
        return answerTransferred(call, buffer, answer);
      });
      const own = buffer instanceof ArrayBuffer ? buffer : undefined;
      const reply: WorkerReply = { outcome, buffer: own };
      const moved = outcome.ok ? buffersIn(outcome.value) : new Set<ArrayBuffer>();
      if (own !== undefined) moved.add(own);
      return moved.size === 0 ? reply : transfer(reply, [...moved]);
    },
  };
  const port = hasWebWorker() || isWebWorker() ? null : nodeThreads()?.parentPort;
  const tell = (): void => {
    if (port === null || port === undefined) globalThis.postMessage(RING_MESSAGE);
    else port.postMessage(RING_MESSAGE);
  };
  if (port === null || port === undefined) expose(host);
  else expose(host, nodeEndpoint(port));
}

/** The error on the other side, as the error it was. */
export function rebuildError(error: WorkerError): QuarkError {
  return new QuarkError(error.code, error.message, { details: error.details });
}

/**
 * The unshared buffers behind the typed arrays of a result, so that they move to the receiver instead of being copied. A result is
 * plain objects, lists of such, and typed arrays of its own.
 */
export function buffersIn(
  value: unknown,
  found: Set<ArrayBuffer> = new Set<ArrayBuffer>(),
): Set<ArrayBuffer> {
  if (typeof value !== 'object' || value === null) return found;
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (Array.isArray(value)) {
    // A list of numbers may be long, and the members of a list are alike.
    if (typeof value[0] === 'object') for (const member of value) buffersIn(member, found);
  } else {
    for (const member of Object.values(value)) buffersIn(member, found);
  }
  return found;
}

/** A web worker need not offer workers of its own. */
function isWebWorker(): boolean {
  return 'WorkerGlobalScope' in globalThis;
}

async function attempt(work: () => unknown): Promise<WorkerReply['outcome']> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (isQuarkError(error)) {
      return {
        ok: false,
        error: { code: error.code, message: error.message, details: error.details },
      };
    }
    const message = `A kernel failed: ${messageOf(error)}`;
    return { ok: false, error: { code: 'kernel_failed', message, details: {} } };
  }
}
