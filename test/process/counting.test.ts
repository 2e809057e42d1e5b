/** Eight processes that record runs of one configuration at once into one folder. Needs the build (`npm run build:lib`). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findRuns, openRun, openStorage, startRun } from 'quark-sdk';

const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8];
const PROGRAM = fileURLToPath(new URL('counting-child.mjs', import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quark-counting-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('revisions are counted without a gap, and the summaries and tags of all are there', async () => {
  const store = await openStorage(`file:${folder}`);
  const shared = await startRun({ project: 'shared', storage: store });
  const children = NUMBERS.map((number) =>
    spawn(process.execPath, [PROGRAM, folder, String(number), shared.runId], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  const ends = children.map((child) => once(child, 'close'));
  for (const child of children) child.stdin.end('go');
  for (const [code] of await Promise.all(ends)) expect(code).toBe(0);

  const found = await findRuns(store, { project: 'counted', status: 'completed' });
  const runs = found.map(({ run }) => run);
  const revisions = runs.map(({ configRevision }) => configRevision ?? 0);
  expect(revisions.toSorted((a, b) => a - b)).toEqual(NUMBERS);
  for (const number of NUMBERS) {
    const [own, ...others] = runs.filter(({ summary }) => summary['worker'] === number);
    expect(others).toEqual([]);
    expect(own?.tags).toEqual([`worker=${number}`]);
    const last = { metrics: { loss: { last: number - 4, max: number } } };
    expect((await findRuns(store, last)).map(({ run }) => run.id)).toEqual([own?.id]);
  }
  const { tags } = (await openRun(store, shared.runId)).run;
  expect(tags.toSorted()).toEqual(NUMBERS.map((number) => `worker_${number}=${number}`));
  const tagged = await findRuns(store, { tags: { worker_8: { gte: 8 } } });
  expect(tagged.map(({ run }) => run.id)).toEqual([shared.runId]);
  await shared.endRun();
  await store.close();
});
