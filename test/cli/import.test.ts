/** `quark import`, on files in a folder. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInputFiles } from '../../src/node.ts';
import { pickleBytes } from '../fixtures/pickles.ts';
import { gzip, zip } from '../support/archives.ts';
import { quark, type Ran } from './fake-io.ts';

let folder = '';
const state = (loss: number): string =>
  JSON.stringify({
    global_step: 1,
    log_history: [{ step: 1, epoch: 1, loss, learning_rate: 0.1 }],
  });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-import-'));
  for (const [name, loss] of [
    ['a', 1],
    ['b', 2],
  ] as const) {
    mkdirSync(join(folder, 'logs', name), { recursive: true });
    writeFileSync(join(folder, 'logs', name, 'trainer_state.json'), state(loss));
  }
  mkdirSync(join(folder, 'logs', 'node_modules'));
  writeFileSync(join(folder, 'logs', 'node_modules', 'trainer_state.json'), state(3));
  writeFileSync(join(folder, 'logs', 'picture.png'), Uint8Array.of(137, 80, 78, 71));
  writeFileSync(join(folder, 'broken.json'), '{"log_history": [');
  symlinkSync(join(folder, 'nowhere'), join(folder, 'logs', 'dangling'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]): Promise<Ran> => quark(args, { cwd: folder });

test('a folder becomes runs that the other commands know, once', async () => {
  const first = await run('import', 'logs', '--project', 'others', '--tag', 'imported', '--json');
  expect(first.code).toBe(0);
  const report = JSON.parse(first.stdout);
  expect(report.runs).toMatchObject([
    {
      name: 'a',
      project: 'others',
      rowCount: 3,
      isNew: true,
      files: ['logs/a/trainer_state.json'],
    },
    { name: 'b', project: 'others', rowCount: 3, isNew: true },
  ]);
  expect(report.unknownFiles).toEqual(['logs/picture.png']);
  const again = await run('import', 'logs', '--project', 'others');
  expect(again.stdout.match(/known/g)).toHaveLength(2);
  expect(again.stderr).toMatch(
    /^Not recognised: logs\/picture\.png: 4 bytes, a PNG picture\. .*\nKnown formats: .*text_log.*\n$/,
  );
  expect(report.unknown).toMatchObject([{ file: 'logs/picture.png' }]);
  const runs = JSON.parse(
    (await run('runs', '--project', 'others', '--tag', 'imported', '--json')).stdout,
  );
  expect(runs).toHaveLength(2);
  const metrics = await run('metrics', report.runs[1].runId, '--csv');
  expect(metrics.stdout).toContain(',train/loss,1,1,2\r\n');
});

test('what cannot be read is said, with an exit code', async () => {
  const broken = await run('import', 'broken.json');
  expect(broken.code).toBe(1);
  expect(broken.stderr).toMatch(
    /^broken\.json, log_history\[0\]: The file ends in the middle of it\.\n.*Nothing was imported\.\n$/s,
  );
  const missing = await run('import', 'absent');
  expect(missing.code).toBe(1);
  expect(missing.stderr).toMatch(/There is no file or folder .*absent/);
  expect((await run('import')).stderr).toMatch(/needs PATH\.\.\./);
  expect((await run('import', 'logs', '--format', 'docx')).stderr).toMatch(
    /format.*hugging_face_trainer/,
  );
});

test('a log whose losses are all lost fails, and its message has the pattern that reads them', async () => {
  const line = (i: number): string => `round ${i} => loss is ${5 - i}\n`;
  writeFileSync(join(folder, 'odd.log'), [1, 2, 3].map(line).join(''));
  const lost = await run('import', 'odd.log');
  expect(lost.code).toBe(1);
  const [, pattern = ''] =
    /^odd\.log, line 1: 3 lines .* --pattern '(.*)'$/m.exec(lost.stderr) ?? [];
  const read = await run('import', 'odd.log', '--pattern', pattern, '--json');
  expect([read.code, read.stderr]).toEqual([0, '']);
  const { runs } = JSON.parse(read.stdout);
  expect((await run('metrics', runs[0].runId, '--csv')).stdout).toContain(',train/loss,3,');
  // Beside values that were read it is a failure, too: the run has no loss.
  writeFileSync(
    join(folder, 'half.log'),
    [1, 2, 3].map((i) => `step=${i} lr=0.1 gain=2\nround ${i} => loss is ${i}\n`).join(''),
  );
  const half = await run('import', 'half.log', '--json');
  expect(half.code).toBe(1);
  expect(JSON.parse(half.stdout)).toMatchObject({
    runs: [{ rowCount: 6 }],
    unread: [{ file: 'half.log', lineCount: 3, readCount: 0, patterns: [expect.any(String)] }],
  });
  const wrong = await run('import', 'odd.log', '--pattern', '(?<loss>.*)(?=x)');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/lookahead/)]);
});

test('commands of analysis read a log by the pattern that they are given', async () => {
  const line = (i: number): string => `round ${i} => loss is ${(5 / (i + 1)).toFixed(3)}\n`;
  writeFileSync(join(folder, 'rounds.log'), Array.from({ length: 60 }, (_, i) => line(i)).join(''));
  const lost = await run('analyze', 'rounds.log');
  expect(lost.stderr).toContain('given to quark import, analyze or report: --pattern');
  const pattern = String.raw`round (?<step>\d+) => loss is (?<loss>\S+)`;
  const read = await run('analyze', 'rounds.log', '--pattern', pattern);
  expect([read.code, read.stderr]).toEqual([0, '']);
  expect(read.stdout).toContain('train/loss as training loss');
  const told = await run('report', 'rounds.log', '--pattern', pattern);
  expect(told.stdout).toContain('train/loss');
  const phases = await run('phases', 'rounds.log', '--pattern', pattern, '--json');
  expect(JSON.parse(phases.stdout).phases.length).toBeGreaterThan(0);
  const both = await run('compare', 'rounds.log', 'rounds.log', '--pattern', pattern);
  expect(both.stdout).toContain('train/loss');
  const wrong = await run('analyze', 'rounds.log', '--pattern', '(?<loss>.*)(?=x)');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/lookahead/)]);
  const stored = await run('analyze', 'latest', '--pattern', pattern);
  expect([stored.code, stored.stderr]).toEqual([
    2,
    expect.stringMatching(/--pattern is for files/),
  ]);
});

test('what is not recognised is described, with what to do', async () => {
  writeFileSync(join(folder, 'notes.txt'), 'We trained it twice.\n');
  writeFileSync(join(folder, 'model.h5'), Buffer.from('894844460d0a1a0a', 'hex'));
  const told = await run('import', 'notes.txt', 'model.h5');
  expect(told.code).toBe(1);
  expect(told.stderr).toMatch(
    /^Not recognised: notes\.txt: 21 bytes, text in which no line .*: "We trained it twice\."\. .*--pattern/,
  );
  expect(told.stderr).toMatch(/model\.h5: 8 bytes, an HDF5 file.*Import the log/);
  const asked = await run('analyze', 'notes.txt');
  expect(asked.stderr).toMatch(/No run was recognised in notes\.txt: .*We trained it twice/);
});

test('files of a disk are read in pieces and slices, with paths below what was named', async () => {
  const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => i * 31);
  writeFileSync(join(folder, 'large.bin'), bytes);
  const [file] = await openInputFiles([join(folder, 'large.bin')]);
  expect(file).toMatchObject({ path: 'large.bin', sizeBytes: bytes.length });
  const pieces: Uint8Array[] = [];
  for await (const piece of file?.stream(5) ?? []) pieces.push(piece);
  expect(pieces.length).toBeGreaterThan(1);
  expect(Buffer.concat(pieces).equals(bytes.subarray(5))).toBe(true);
  expect(await file?.slice(2_999_990, 4_000_000)).toEqual(bytes.slice(2_999_990));
  const below = await openInputFiles([join(folder, 'logs')]);
  expect(below.map(({ path }) => path)).toEqual([
    'logs/a/trainer_state.json',
    'logs/b/trainer_state.json',
    'logs/picture.png',
  ]);
});

test('archives, pickles and pointers are files of a folder like others', async () => {
  mkdirSync(join(folder, 'sent'));
  const log = Array.from(
    { length: 5 },
    (_, i) => `[${i}]\ttrain-rmse:${5 - i}\teval-rmse:${6 - i}\n`,
  );
  writeFileSync(join(folder, 'sent', 'boost.zip'), zip({ 'a/xgb.log': log.join('') }));
  writeFileSync(join(folder, 'sent', 'boost.log.gz'), gzip(log.join('')));
  writeFileSync(join(folder, 'sent', 'history.pkl'), pickleBytes('plain 4'));
  writeFileSync(
    join(folder, 'sent', 'model.csv'),
    `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 48213\n`,
  );
  const sent = await run('import', 'sent', '--json');
  const { problems, runs } = JSON.parse(sent.stdout);
  expect(runs).toMatchObject([
    { format: 'text_log', rowCount: 10, files: ['sent/boost.log'] },
    { format: 'text_log', rowCount: 10, files: ['sent/boost/a/xgb.log'] },
    { format: 'pickle', rowCount: 9, files: ['sent/history.pkl'] },
  ]);
  expect(problems).toMatchObject([
    { file: 'sent/model.csv', reason: expect.stringMatching(/Git LFS pointer.* 48213 bytes/) },
  ]);
});
