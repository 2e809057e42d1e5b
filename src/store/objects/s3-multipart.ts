/** Uploads in parts: a few parts are in memory at a time, and each is tried again by itself. */
import { SessionStoreError } from '../../base/errors.ts';
import { drain, whenStatus, type S3Client } from './s3-client.ts';
import { readRefusal } from './s3-errors.ts';
import { completeUploadXml, elementText } from './s3-xml.ts';

/** Most parts that S3 takes for one object. */
const MAX_PARTS = 10_000;

/** Uploads bytes in parts and puts them together; gives the upload up when that fails. `sizeOf` looks the object up. */
export async function putInParts(
  client: S3Client,
  key: string,
  bytes: Uint8Array<ArrayBuffer>,
  sizeOf: () => Promise<number | undefined>,
): Promise<void> {
  const { partBytes, parallelParts } = client.config;
  const size = Math.max(partBytes, Math.ceil(bytes.byteLength / MAX_PARTS));
  const uploadId = await begin(client, key);
  try {
    const count = Math.ceil(bytes.byteLength / size);
    const etags = Array.from({ length: count }, () => '');
    let next = 0;
    let isFailed = false;
    const work = async (): Promise<void> => {
      while (next < count && !isFailed) {
        const part = next++;
        try {
          etags[part] = await putPart(
            client,
            key,
            uploadId,
            part,
            bytes.subarray(part * size, (part + 1) * size),
          );
        } catch (error) {
          isFailed = true;
          throw error;
        }
      }
    };
    // All workers are waited for: a part that is under way when the upload is given up would stay behind.
    const ends = await Promise.allSettled(Array.from({ length: parallelParts }, work));
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    await complete(client, key, uploadId, etags, async () => (await sizeOf()) === bytes.byteLength);
  } catch (error) {
    await giveUp(client, key, uploadId);
    throw error;
  }
}

async function begin(client: S3Client, key: string): Promise<string> {
  return client.send(
    {
      method: 'POST',
      key,
      query: { uploads: '' },
      headers: { 'content-type': 'application/octet-stream' },
      what: 'begin an upload',
    },
    (response) =>
      whenStatus(response, [200], async () => {
        const uploadId = elementText(await response.text(), 'UploadId');
        if (uploadId === undefined || uploadId === '') throw unexpected('the id of an upload');
        return uploadId;
      }),
  );
}

async function putPart(
  client: S3Client,
  key: string,
  uploadId: string,
  part: number,
  body: Uint8Array<ArrayBuffer>,
): Promise<string> {
  return client.send(
    {
      method: 'PUT',
      key,
      query: { partNumber: String(part + 1), uploadId },
      body,
      what: 'put a part of an object',
    },
    (response) =>
      whenStatus(response, [200], async () => {
        await drain(response);
        const etag = response.headers.get('etag');
        if (etag === null || etag === '') throw unexpected('the ETag of a part');
        return etag;
      }),
  );
}

/**
 * An answer of 200 may still hold an error. Of an answer that is lost nobody knows whether it was done, and the same
 * request is then refused in a way of each server's own: so the object itself is asked for.
 */
async function complete(
  client: S3Client,
  key: string,
  uploadId: string,
  etags: readonly string[],
  isThere: () => Promise<boolean>,
): Promise<void> {
  const body = new Uint8Array(new TextEncoder().encode(completeUploadXml(etags)));
  try {
    await client.send(
      {
        method: 'POST',
        key,
        query: { uploadId },
        headers: { 'content-type': 'application/xml' },
        body,
        what: 'finish an upload',
      },
      async (response) => {
        const text = await response.text();
        return response.status === 200 && elementText(text, 'Code') === undefined
          ? { kind: 'done', value: undefined }
          : { kind: 'refused', refusal: await readRefusal(response, text) };
      },
    );
  } catch (error) {
    if (!(await isThere())) throw error;
  }
}

async function giveUp(client: S3Client, key: string, uploadId: string): Promise<void> {
  await client
    .send({ method: 'DELETE', key, query: { uploadId }, what: 'give up an upload' }, (response) =>
      // Servers that cannot do this, and uploads that are gone already, leave nothing to do.
      whenStatus(response, [200, 204, 404, 405, 501], () => drain(response)),
    )
    // The first error is the one to report; `abortUploads` sees to what is left.
    .catch(() => undefined);
}

function unexpected(what: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `The object store did not answer with ${what}. It may not be an S3-compatible server.`,
    { details: { expected: what } },
  );
}
