/** Objects in a bucket: written whole, read whole, looked up, removed, listed. */
import { SessionStoreError } from '../../base/errors.ts';
import {
  drain,
  S3Client,
  whenStatus,
  type Progress,
  type S3Outcome,
  type S3SignerClass,
} from './s3-client.ts';
import type { S3Config } from './s3-config.ts';
import { readRefusal } from './s3-errors.ts';
import { putInParts } from './s3-multipart.ts';
import { parseObjectPage, parseUploads, type ListedObject, type ObjectPage } from './s3-xml.ts';

/** The objects below the prefix of one bucket; keys are given and returned without the prefix. */
export class S3Objects {
  readonly #client: S3Client;

  constructor(config: S3Config, Signer: S3SignerClass) {
    this.#client = new S3Client(config, Signer);
  }

  /** Names the location in messages. */
  get name(): string {
    const { bucket, endpoint, prefix } = this.#client.config;
    return `${endpoint}/${bucket}/${prefix}`.replace(/\/$/, '');
  }

  /** Asks for the bucket, so that a wrong configuration shows at once. @throws {SessionStoreError} `missing` and others */
  async check(): Promise<void> {
    await this.#page('', undefined, 1);
  }

  /**
   * Stores bytes under a key, in parts where they are many. Durable when it resolves, and there is never an object that is
   * not whole. The bytes must not change until then.
   */
  async put(key: string, bytes: Uint8Array<ArrayBuffer>, sha256?: string): Promise<void> {
    if (bytes.byteLength > this.#client.config.partBytes) {
      await putInParts(this.#client, key, bytes, () => this.size(key));
      return;
    }
    await this.#client.send(
      {
        method: 'PUT',
        key,
        body: bytes,
        headers: { 'content-type': 'application/octet-stream' },
        ...(sha256 === undefined ? {} : { sha256 }),
        what: 'put an object',
      },
      (response) => whenStatus(response, [200], () => drain(response)),
    );
  }

  /**
   * The bytes of an object, if it is there. A connection that breaks is taken up where it broke.
   *
   * @throws {SessionStoreError} `corrupt` when the object is larger than `maxBytes`
   */
  async get(key: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    let bytes: Uint8Array<ArrayBuffer> | undefined;
    let filled = 0;
    const read = async (
      response: Response,
      progress: Progress,
    ): Promise<S3Outcome<Uint8Array<ArrayBuffer> | undefined>> => {
      if (response.status !== 200 && response.status !== 206) {
        const refusal = await readRefusal(response);
        if (refusal.status === 404 && refusal.code !== 'NoSuchBucket')
          return { kind: 'done', value: undefined };
        return { kind: 'refused', refusal };
      }
      // A server may answer a range with the whole.
      if (response.status === 200) filled = 0;
      else if (!(response.headers.get('content-range') ?? '').startsWith(`bytes ${filled}-`))
        throw new Error('The answer is another range than the one asked for.');
      const length = Number(response.headers.get('content-length') ?? Number.NaN);
      const total = filled + length;
      if (!Number.isSafeInteger(total)) throw new Error('The answer does not say how long it is.');
      if (total > maxBytes) {
        await response.body?.cancel();
        throw tooLong(key, total, maxBytes, this.name);
      }
      if (bytes?.byteLength !== total) {
        bytes = new Uint8Array(total);
        if (response.status === 206 && filled > 0) {
          filled = 0;
          throw new Error('The object is not the one that was read before.');
        }
      }
      for await (const chunk of chunksOf(response)) {
        progress();
        if (filled + chunk.byteLength > total)
          throw new Error('The answer is longer than it says.');
        bytes.set(chunk, filled);
        filled += chunk.byteLength;
      }
      if (filled < total) throw new Error('The answer broke off.');
      return { kind: 'done', value: bytes };
    };
    return this.#client.send(
      {
        method: 'GET',
        key,
        what: 'get an object',
        // Looked at by every attempt.
        get headers() {
          return filled > 0 ? { range: `bytes=${filled}-` } : {};
        },
      },
      read,
    );
  }

  /**
   * The bytes of an object from `start` (inclusive) to `end` (exclusive), cut at its end; undefined when there is no such object.
   * A broken connection is retried.
   */
  async getRange(
    key: string,
    start: number,
    end: number,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const read = async (
      response: Response,
      progress: Progress,
    ): Promise<S3Outcome<Uint8Array<ArrayBuffer> | undefined>> => {
      if (response.status !== 200 && response.status !== 206) {
        const refusal = await readRefusal(response);
        if (refusal.status === 404 && refusal.code !== 'NoSuchBucket')
          return { kind: 'done', value: undefined };
        // The object ends before `start`.
        if (refusal.status === 416) return { kind: 'done', value: new Uint8Array(0) };
        return { kind: 'refused', refusal };
      }
      // A server may ignore the range and send the whole object: reading stops at `end`.
      let at = response.status === 200 ? 0 : start;
      if (
        response.status === 206 &&
        !(response.headers.get('content-range') ?? '').startsWith(`bytes ${start}-`)
      )
        throw new Error('The answer is another range than the one asked for.');
      const length = Number(response.headers.get('content-length') ?? Number.NaN);
      if (!Number.isSafeInteger(length)) throw new Error('The answer does not say how long it is.');
      const last = Math.min(end, at + length);
      const bytes = new Uint8Array(Math.max(0, last - start));
      for await (const chunk of chunksOf(response)) {
        progress();
        const wanted = chunk.subarray(Math.max(0, start - at), Math.max(0, last - at));
        bytes.set(wanted, Math.max(0, at - start));
        at += chunk.byteLength;
        if (at >= last) break;
      }
      if (at < last) throw new Error('The answer broke off.');
      return { kind: 'done', value: bytes };
    };
    return this.#client.send(
      {
        method: 'GET',
        key,
        what: 'get a part of an object',
        headers: { range: `bytes=${start}-${end - 1}` },
      },
      read,
    );
  }

  /** The size of an object in bytes, or undefined when it is not there. */
  async size(key: string): Promise<number | undefined> {
    return this.#client.send(
      { method: 'HEAD', key, what: 'look up an object' },
      async (response) => {
        if (response.status === 404) return { kind: 'done', value: undefined };
        return whenStatus(response, [200], () => {
          const size = Number(response.headers.get('content-length') ?? Number.NaN);
          return Number.isSafeInteger(size) ? size : undefined;
        });
      },
    );
  }

  /** Removes an object; one that is not there counts as removed. */
  async delete(key: string): Promise<void> {
    await this.#client.send(
      { method: 'DELETE', key, what: 'delete an object' },
      async (response) => {
        if (response.status === 404) {
          const refusal = await readRefusal(response);
          return refusal.code === 'NoSuchBucket'
            ? { kind: 'refused', refusal }
            : { kind: 'done', value: undefined };
        }
        return whenStatus(response, [200, 202, 204], () => drain(response));
      },
    );
  }

  /** All objects whose keys begin so, in order of their keys, page by page. */
  async *list(start: string): AsyncGenerator<ListedObject> {
    let next: string | undefined;
    do {
      const page = await this.#page(start, next, 1000);
      yield* page.objects;
      next = page.next;
    } while (next !== undefined);
  }

  /** Gives up uploads in parts that began before then and were never finished: their parts cost room, unseen. */
  async abortUploads(start: string, beforeMs: number): Promise<number> {
    const { prefix } = this.#client.config;
    const uploads = await this.#client.send(
      { method: 'GET', query: { uploads: '', prefix: prefix + start }, what: 'list uploads' },
      async (response) => {
        // Servers without that list give up such uploads by themselves, or by a rule of the bucket.
        if (response.status === 501 || response.status === 405) {
          await drain(response);
          return { kind: 'done', value: [] };
        }
        return whenStatus(response, [200], async () => parseUploads(await response.text()));
      },
    );
    const old = uploads.filter((upload) => upload.startedAtMs < beforeMs);
    for (const { key, uploadId } of old) {
      if (!key.startsWith(prefix)) continue;
      await this.#client.send(
        {
          method: 'DELETE',
          key: key.slice(prefix.length),
          query: { uploadId },
          what: 'give up an upload',
        },
        (response) => whenStatus(response, [200, 204, 404], () => drain(response)),
      );
    }
    return old.length;
  }

  async #page(start: string, next: string | undefined, maxKeys: number): Promise<ObjectPage> {
    const { prefix } = this.#client.config;
    const page = await this.#client.send(
      {
        method: 'GET',
        query: {
          'list-type': '2',
          'max-keys': String(maxKeys),
          prefix: prefix + start,
          ...(next === undefined ? {} : { 'continuation-token': next }),
        },
        what: 'list objects',
      },
      (response) => whenStatus(response, [200], async () => parseObjectPage(await response.text())),
    );
    return {
      ...page,
      objects: page.objects
        .filter(({ key }) => key.startsWith(prefix))
        .map((object) => ({ ...object, key: object.key.slice(prefix.length) })),
    };
  }
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function tooLong(key: string, found: number, maxBytes: number, where: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `Object ${key} in ${where} has ${found} bytes; it can have ${maxBytes}. Something else has written it.`,
    { details: { key, sizeBytes: found, maxBytes, where } },
  );
}
