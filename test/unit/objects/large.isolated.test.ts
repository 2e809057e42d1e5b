import { AwsClient } from 'aws4fetch';
import { expect, test } from 'vitest';
import { checkS3Options } from '../../../src/store/objects/s3-config.ts';
import { S3Objects } from '../../../src/store/objects/s3-objects.ts';
import { isLong } from '../../support/property.ts';
import { openS3Place } from '../../support/s3-place.ts';

test.runIf(isLong)(
  'the largest blob goes in parts, with a few parts in memory at a time',
  async () => {
    const place = await openS3Place({ wait: async () => undefined });
    const objects = new S3Objects(checkS3Options(place.options), AwsClient);
    const bytes = new Uint8Array(1024 * 1024 * 1024);
    for (let i = 0; i < bytes.length; i += 4096) bytes[i] = i >>> 12;
    const before = process.memoryUsage().rss;
    let most = 0;
    // Every 20th request is dropped.
    place.fault = () => {
      most = Math.max(most, process.memoryUsage().rss - before);
      return place.calls.length % 20 === 0 ? { kind: 'drop' } : undefined;
    };
    await objects.put('large', bytes);
    place.fault = undefined;
    expect(await objects.size('large')).toBe(bytes.length);
    expect(Math.max(...place.calls.map((call) => call.sizeBytes))).toBe(16 * 1024 * 1024);
    // Parts in the client, in the front and in the server, which are all in this process.
    expect(most).toBeLessThan(512 * 1024 * 1024);
    await place.close();
  },
  600_000,
);
