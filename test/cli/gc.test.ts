/** `quark gc`: payloads that no artifact names. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { bytesOf, runOf } from '../support/segments.ts';
import { quark } from './fake-io.ts';

const folder = mkdtempSync(join(tmpdir(), 'quark-gc-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('says what it would remove, removes it, and leaves what is named or new', async () => {
  const old = { now: () => Date.now() - 30 * 24 * 60 * 60 * 1000 };
  const store = await openFileStorage(folder, { clock: old });
  const put = async (size: number): Promise<string> => {
    const bytes = bytesOf(size, size);
    const hash = (await sha256Hex(bytes)) ?? '';
    await store.putBlob(hash, bytes);
    return hash;
  };
  await store.createRun(runOf());
  const named = await put(1000);
  const unnamed = await put(300 * 1024);
  await store.appendSegments([artifactSegmentOf(0, [[named]])]);
  const has = async (): Promise<boolean> => (await store.getBlob(unnamed)) !== undefined;
  const gc = (...args: string[]) => quark(['gc', ...args], { cwd: folder });
  expect(await gc('--days', '40')).toMatchObject({
    code: 0,
    stdout: 'Removed 0 blobs, 0 bytes. Artifacts name 1 blob.\n',
  });
  expect(await gc('--dry-run')).toMatchObject({
    code: 0,
    stdout: 'Would remove 1 blob, 300 KiB. Artifacts name 1 blob.\n',
  });
  expect(await has()).toBe(true);
  const done = await gc('--json');
  expect(JSON.parse(done.stdout)).toEqual({
    blobs: 1,
    bytes: 307200,
    named: 1,
    loose_files: 0,
    loose_bytes: 0,
    is_done: true,
  });
  expect(await has()).toBe(false);
  expect(await store.getBlob(named)).toBeDefined();
  await store.close();
});
