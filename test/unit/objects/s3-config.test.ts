import { expect, test } from 'vitest';
import {
  checkS3Options,
  S3_VARIABLES,
  s3OptionsFromEnvironment,
  type S3Options,
} from '../../../src/store/objects/s3-config.ts';
import {
  elementText,
  parseObjectPage,
  parseUploads,
  completeUploadXml,
} from '../../../src/store/objects/s3-xml.ts';

const GOOD: S3Options = {
  endpoint: 'https://s3.example.org/',
  bucket: 'runs',
  accessKeyId: 'id',
  secretAccessKey: 'hush-hush',
};

test('defaults, and what is made of the prefix and the endpoint', () => {
  expect(checkS3Options({ ...GOOD, prefix: 'a/b' })).toMatchObject({
    endpoint: 'https://s3.example.org',
    region: 'us-east-1',
    prefix: 'a/b/',
    addressing: 'path',
    timeoutMs: 30_000,
    attempts: 6,
    partBytes: 16 * 1024 * 1024,
  });
});

test.each<[string, Partial<Record<keyof S3Options, unknown>>, string]>([
  ['no address', { endpoint: 'hush-hush' }, 's3.endpoint'],
  ['another protocol', { endpoint: 'ftp://host' }, 's3.endpoint'],
  ['a password in the address', { endpoint: 'https://a:hush-hush@host' }, 's3.endpoint'],
  ['a query', { endpoint: 'https://host/?a=1' }, 's3.endpoint'],
  ['a path and hosts', { endpoint: 'https://host/a', addressing: 'virtual' }, 's3.endpoint'],
  ['a bucket with a slash', { bucket: 'a/b' }, 's3.bucket'],
  ['a secret with a line break', { secretAccessKey: 'hush-hush\n' }, 's3.secretAccessKey'],
  ['an empty key', { accessKeyId: '' }, 's3.accessKeyId'],
  ['a prefix that climbs', { prefix: 'a/../b' }, 's3.prefix'],
  ['a prefix with blanks', { prefix: 'a b' }, 's3.prefix'],
  ['small parts', { partBytes: 1024 }, 's3.partBytes'],
  ['no attempt', { attempts: 0 }, 's3.attempts'],
  ['an unknown way to name buckets', { addressing: 'dns' }, 's3.addressing'],
])('%s is refused', (_name, change, field) => {
  const options = { ...GOOD, ...change } as S3Options;
  let thrown: unknown;
  try {
    checkS3Options(options);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: 'invalid_input', details: { field } });
  expect(JSON.stringify(thrown) + String(thrown)).not.toContain('hush-hush');
});

test('unknown options are refused', () => {
  expect(() => checkS3Options(Object.assign({ buckets: 'x' }, GOOD))).toThrow('buckets');
});

test('from the environment: all, the needed ones, none, or an error that names what is missing', () => {
  const all = Object.fromEntries(
    Object.values(S3_VARIABLES).map((name) => [name, `${name}-value`]),
  );
  expect(s3OptionsFromEnvironment({ ...all, QUARK_S3_ADDRESSING: 'virtual' })).toEqual({
    endpoint: 'QUARK_S3_ENDPOINT-value',
    bucket: 'QUARK_S3_BUCKET-value',
    region: 'QUARK_S3_REGION-value',
    accessKeyId: 'QUARK_S3_ACCESS_KEY_ID-value',
    secretAccessKey: 'QUARK_S3_SECRET_ACCESS_KEY-value',
    sessionToken: 'QUARK_S3_SESSION_TOKEN-value',
    prefix: 'QUARK_S3_PREFIX-value',
    addressing: 'virtual',
  });
  const needed = {
    QUARK_S3_ENDPOINT: 'http://minio:9000',
    QUARK_S3_BUCKET: 'runs',
    QUARK_S3_ACCESS_KEY_ID: 'id',
    QUARK_S3_SECRET_ACCESS_KEY: 'hush\n',
    QUARK_S3_REGION: ' ',
  };
  expect(s3OptionsFromEnvironment(needed)).toEqual({
    endpoint: 'http://minio:9000',
    bucket: 'runs',
    accessKeyId: 'id',
    secretAccessKey: 'hush',
  });
  expect(s3OptionsFromEnvironment({ PATH: '/bin', QUARK_S3_BUCKET: '' })).toBeUndefined();
  for (const name of Object.keys(needed).filter((one) => one !== 'QUARK_S3_REGION')) {
    expect(() => s3OptionsFromEnvironment({ ...needed, [name]: undefined })).toThrow(name);
  }
});

test('XML: entities, attributes, pages, and answers that are something else', () => {
  expect(elementText('<A x="1">a &amp; b &#65;&#x42; &nope;</A>', 'A')).toBe('a & b AB &nope;');
  expect(elementText('<A>', 'A')).toBeUndefined();
  const page = (end: string): string =>
    `<?xml version="1.0"?><ListBucketResult xmlns="x"><Contents><Key>a</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>5</Size></Contents>${end}</ListBucketResult>`;
  expect(parseObjectPage(page('<IsTruncated>false</IsTruncated>'))).toEqual({
    objects: [{ key: 'a', sizeBytes: 5, modifiedAtMs: Date.UTC(2026, 0, 1) }],
    next: undefined,
  });
  for (const broken of [
    '<html></html>',
    page('<IsTruncated>true</IsTruncated>'),
    page('').replace('5', 'five'),
    page('<Contents>'),
  ])
    expect(() => parseObjectPage(broken)).toThrow('S3-compatible');
  expect(() => parseUploads('nothing')).toThrow('S3-compatible');
  expect(completeUploadXml(['"a"', 'b<'])).toContain(
    '<Part><PartNumber>2</PartNumber><ETag>b&lt;</ETag></Part>',
  );
});
