/** Bodies of requests and answers: read within limits, unpacked within limits, packed where it pays. */
import { SessionStoreError } from '../base/errors.ts';

/** What a body may hold. */
export type BodyLimits = {
  /** Names the body in messages. */
  readonly what: string;
  /** Bytes as they travel. */
  readonly packedBytes: number;
  /** Bytes after unpacking. Counted while they are unpacked, so that no more than this is ever in memory. */
  readonly bytes: number;
  /** Reserves memory, in bytes, before it is used; throws when there is none left. */
  readonly takeRoom?: ((bytes: number) => void) | undefined;
};

/** Smaller bodies are sent as they are: the header of gzip and the call cost more than they save. */
const MIN_GZIP_BYTES = 1_024;
/** Bytes that are packed to see whether the rest would get smaller. */
const SAMPLE_BYTES = 32 * 1024;
/** A body is packed when its sample shrinks to less than this share. */
const WORTHWHILE_RATIO = 0.85;

/**
 * The whole body of a request, unpacked.
 *
 * @throws {SessionStoreError} `too_large`; `rejected` when it is packed in an unknown way or cannot be unpacked
 */
export async function readBody(
  request: Request,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = (request.headers.get('content-encoding') ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new SessionStoreError('rejected', 'content-encoding must be "gzip" or "identity".', {
      details: {
        field: 'content-encoding',
        value: encoding.slice(0, 80),
        rule: '"gzip" or "identity"',
      },
    });
  const isPacked = encoding === 'gzip';
  const travelLimit = isPacked ? limits.packedBytes : limits.bytes;
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > travelLimit) throw tooLarge(limits.what, travelLimit, announced);
  if (request.body === null) return new Uint8Array(0);
  if (!isPacked)
    return collect(
      request.body,
      (bytes) => tooLarge(limits.what, limits.bytes, bytes),
      limits.bytes,
      announced,
      limits.takeRoom,
    );
  const counted = request.body.pipeThrough(countUpTo(limits.packedBytes, limits.what));
  const unpacked: ReadableStream<Uint8Array> = counted.pipeThrough(
    new DecompressionStream('gzip') as ReadableWritablePair<Uint8Array, Uint8Array>,
  );
  try {
    return await collect(
      unpacked,
      () => tooLarge(`${limits.what}, unpacked,`, limits.bytes),
      limits.bytes,
      0,
      limits.takeRoom,
    );
  } catch (cause) {
    if (cause instanceof SessionStoreError) throw cause;
    throw new SessionStoreError('rejected', `${limits.what} is not whole gzip data.`, {
      details: { field: 'body', rule: 'whole gzip data' },
      cause,
    });
  }
}

/** The whole body as JSON. @throws {SessionStoreError} `too_large`; `rejected` when it is not JSON */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBody(request, limits);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw new SessionStoreError('rejected', 'The body must be JSON in UTF-8.', {
      details: { field: 'body', rule: 'JSON in UTF-8' },
      cause,
    });
  }
}

/**
 * Everything a stream gives, in one array. More than `limit` bytes end it with the error of `refuse`.
 *
 * @param expected bytes that were announced: memory is taken once where they are right
 * @param takeRoom reserves memory, in bytes, before it is used; what it throws ends the stream
 */
export async function collect(
  stream: ReadableStream<Uint8Array>,
  refuse: (bytes: number) => Error,
  limit: number,
  expected = 0,
  takeRoom: (bytes: number) => void = () => undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    try {
      if (size > limit) throw refuse(size);
      // Once in its part, and once in the whole.
      takeRoom(2 * value.byteLength);
    } catch (error) {
      // The sender may go on for ever, and need not learn of a failure to stop it.
      reader.cancel(error).catch(() => undefined);
      throw error;
    }
    parts.push(value);
  }
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && only.byteLength === expected) return only.slice();
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>, undefined>;

/**
 * The body of an answer whose first chunk has been made already. Nothing is read ahead of the client, and what it does
 * not read is not made.
 *
 * @param onFailure told why a body broke off: its status has been sent by then
 */
export function streamOf(
  first: Awaited<ReturnType<Chunks['next']>>,
  rest: Chunks,
  onFailure: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  let next: typeof first | undefined = first;
  let isCancelled = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const chunk = next ?? (await rest.next());
          next = undefined;
          // It may have been cancelled while the chunk was made.
          if (isCancelled) return;
          if (chunk.done === true) controller.close();
          else controller.enqueue(chunk.value);
        } catch (error) {
          if (isCancelled) return;
          onFailure(error);
          throw error;
        }
      },
      async cancel() {
        isCancelled = true;
        await rest.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A body that is passed on; see {@link relay}. */
export type Relay = {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends it for both sides: for the reader by `finish`, which closes the stream or fails it. */
  readonly end: (finish: (target: ReadableStreamDefaultController<Uint8Array>) => void) => void;
};

/** The same body, of which nothing is read ahead of the client. `onEnd` is told once: it was read, cancelled, ended, or broke off. */
export function relay(source: ReadableStream<Uint8Array>, onEnd: () => void): Relay {
  const reader = source.getReader();
  let isOpen = true;
  let target: ReadableStreamDefaultController<Uint8Array> | undefined;
  const release = (): boolean => {
    const wasOpen = isOpen;
    isOpen = false;
    if (wasOpen) onEnd();
    return wasOpen;
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        target = controller;
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!isOpen) return;
          if (!done) controller.enqueue(value);
          else if (release()) controller.close();
        } catch (error) {
          if (release()) controller.error(error);
        }
      },
      async cancel(reason) {
        release();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const end: Relay['end'] = (finish) => {
    if (!release()) return;
    reader.cancel().catch(() => undefined);
    try {
      if (target !== undefined) finish(target);
    } catch {
      // The other end has gone already.
    }
  };
  return { body, end };
}

/** The bytes in gzip, or undefined where they would hardly get smaller. */
export async function packedIfWorthwhile(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (bytes.byteLength < MIN_GZIP_BYTES) return undefined;
  if (bytes.byteLength > 2 * SAMPLE_BYTES) {
    // From the middle: the beginning of an upload is text, which always shrinks.
    const start = (bytes.byteLength - SAMPLE_BYTES) >>> 1;
    const sample = await gzip(bytes.subarray(start, start + SAMPLE_BYTES));
    if (sample.byteLength > SAMPLE_BYTES * WORTHWHILE_RATIO) return undefined;
  }
  const packed = await gzip(bytes);
  return packed.byteLength < bytes.byteLength * WORTHWHILE_RATIO ? packed : undefined;
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function countUpTo(limit: number, what: string): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size > limit) controller.error(tooLarge(what, limit, size));
      else controller.enqueue(chunk);
    },
  });
}

function tooLarge(what: string, limit: number, bytes?: number): SessionStoreError {
  const got = bytes === undefined ? '' : `; got ${bytes} or more`;
  return new SessionStoreError('too_large', `${what} may have at most ${limit} bytes${got}.`, {
    details: { field: 'body', rule: `at most ${limit} bytes`, limitBytes: limit },
  });
}

/** The same answer; `onEnd` is called when its body was read, was cancelled or broke off, or when `signal` is aborted before. */
export function endingWith(answer: Response, onEnd: () => void, signal: AbortSignal): Response {
  if (answer.body === null || signal.aborted) {
    onEnd();
    return answer;
  }
  signal.addEventListener('abort', onEnd, { once: true });
  const { status, headers } = answer;
  return new Response(relay(answer.body, onEnd).body, { status, headers });
}

/** How many bytes a message says that its body has; 0 where it does not say so. */
export function declaredLength(headers: Headers): number {
  const length = Number(headers.get('content-length') ?? 0);
  return Number.isSafeInteger(length) && length >= 0 ? length : 0;
}
