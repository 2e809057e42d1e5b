/** The few answers of S3 that are XML. They are flat, and keys of ours hold no letter that XML would write otherwise. */
import { SessionStoreError } from '../../base/errors.ts';

/** An object as a list shows it. */
export type ListedObject = {
  readonly key: string;
  readonly sizeBytes: number;
  /** When it was written, by the server's clock, in UTC epoch milliseconds. */
  readonly modifiedAtMs: number;
};

/** One page of a list. */
export type ObjectPage = {
  readonly objects: readonly ListedObject[];
  /** What to ask the next page with; undefined on the last one. */
  readonly next: string | undefined;
};

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** The text of the first element of this name. */
export function elementText(xml: string, name: string): string | undefined {
  const start = new RegExp(`<${name}(?:\\s[^>]*)?>`).exec(xml);
  if (start === null) return undefined;
  const from = start.index + start[0].length;
  const end = xml.indexOf(`</${name}>`, from);
  return end < 0 ? undefined : decode(xml.slice(from, end));
}

/** A page of `ListObjectsV2`. */
export function parseObjectPage(xml: string): ObjectPage {
  if (!/<ListBucketResult[\s>]/.test(xml)) throw unexpected('a list of objects');
  const objects = blocks(xml, 'Contents').map((block): ListedObject => {
    const key = elementText(block, 'Key');
    const sizeBytes = Number(elementText(block, 'Size') ?? Number.NaN);
    const modifiedAtMs = Date.parse(elementText(block, 'LastModified') ?? '');
    if (key === undefined || !Number.isSafeInteger(sizeBytes) || !Number.isFinite(modifiedAtMs))
      throw unexpected('a list of objects');
    return { key, sizeBytes, modifiedAtMs };
  });
  const isTruncated = elementText(xml, 'IsTruncated') === 'true';
  const next = isTruncated ? elementText(xml, 'NextContinuationToken') : undefined;
  if (isTruncated && next === undefined) throw unexpected('the next page of a list');
  return { objects, next };
}

/** An upload in parts that was neither finished nor given up. */
export type OpenUpload = {
  readonly key: string;
  readonly uploadId: string;
  readonly startedAtMs: number;
};

/** The first page of `ListMultipartUploads`; what it leaves out is seen once these are gone. */
export function parseUploads(xml: string): readonly OpenUpload[] {
  if (!/<ListMultipartUploadsResult[\s>]/.test(xml)) throw unexpected('a list of uploads');
  return blocks(xml, 'Upload').map((block): OpenUpload => {
    const key = elementText(block, 'Key');
    const uploadId = elementText(block, 'UploadId');
    const startedAtMs = Date.parse(elementText(block, 'Initiated') ?? '');
    if (key === undefined || uploadId === undefined || !Number.isFinite(startedAtMs))
      throw unexpected('a list of uploads');
    return { key, uploadId, startedAtMs };
  });
}

/** The body that puts the parts of an upload together; an ETag is quoted as the server gave it. */
export function completeUploadXml(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${encode(etag)}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
}

function blocks(xml: string, name: string): string[] {
  const found: string[] = [];
  const open = `<${name}>`;
  const close = `</${name}>`;
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    const end = xml.indexOf(close, at);
    if (end < 0) throw unexpected('the end of a list');
    found.push(xml.slice(at + open.length, end));
    at = end;
  }
  return found;
}

function encode(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function decode(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]+));/g,
    (whole, decimal, hex, name) => {
      const code =
        decimal !== undefined
          ? Number(decimal)
          : hex !== undefined
            ? Number.parseInt(String(hex), 16)
            : undefined;
      if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      return ENTITIES[String(name)] ?? whole;
    },
  );
}

function unexpected(what: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `The object store did not answer with ${what}. It may not be an S3-compatible server.`,
    { details: { expected: what } },
  );
}
