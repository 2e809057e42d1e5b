import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeFolder } from '../../../src/store/sql/node/folders.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'quark-folders-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test('many make the same folders at once, at every depth', async () => {
  for (let round = 0; round < 50; round++) {
    const paths = Array.from({ length: 24 }, (_, i) =>
      join(root, `${round}`, ...['a', 'b', 'c', 'd'].slice(0, (i % 4) + 1)),
    );
    await Promise.all(paths.map((path) => makeFolder(path)));
    for (const path of paths) expect((await stat(path)).isDirectory()).toBe(true);
  }
});

test.runIf(process.platform === 'linux')(
  'where nothing can be made, there is an answer',
  async () => {
    await expect(makeFolder('/proc/none/a/b')).rejects.toMatchObject({ reason: 'unwritable' });
  },
);
