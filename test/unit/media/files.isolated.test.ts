import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { createMemoryStore, openRun, startRun, type Store, type TrainingSession } from 'quark-sdk';
import { compareCode, MediaLogger, readRunCode, type DirectoryHandle } from 'quark-sdk/media';
import { loadArtifact } from 'quark-sdk/probes';
import { checkKey } from '../../../src/base/names.ts';
import { keyOfPath } from '../../../src/instruments/media/files.ts';
import { programFiles } from '../../../src/session/platforms/node/program-code.ts';
import { runs } from '../../support/property.ts';

let folder = '';
let store: Store;
let session: TrainingSession;
let media: MediaLogger;

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'quark-files-')));
  store = createMemoryStore();
  session = await startRun({ project: 'files', storage: store, strictMode: true });
  media = new MediaLogger(session);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const filesOf = async (): Promise<Record<string, string>> => {
  const run = await openRun(store, session.runId);
  const records = await run.readArtifacts({ artifactType: 'file' });
  const entries = records.map(async (record) => {
    const payload = await loadArtifact(run, record);
    const text =
      payload instanceof Uint8Array ? new TextDecoder().decode(payload) : JSON.stringify(payload);
    return [
      JSON.stringify(record.metadata?.['path']).slice(1, -1),
      `${record.artifactKey}: ${text}`,
    ] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
};

describe('files', () => {
  test('are logged by path, as File, Blob and handle', async () => {
    writeFileSync(join(folder, 'a.txt'), 'by path');
    symlinkSync(join(folder, 'a.txt'), join(folder, 'link'));
    await media.logFile('one', join(folder, 'a.txt'), { step: 3, metadata: { why: 'test' } });
    await media.logFile('linked', join(folder, 'link'));
    const file = new File(['a file'], 'b.txt', { lastModified: 0 });
    await media.logFile('two', file);
    await media.logFile('three', new Blob(['a blob']));
    await media.logFile('four', {
      kind: 'file',
      name: 'c.txt',
      getFile: () => Promise.resolve(new Blob(['handle'])),
    });
    await session.endRun();
    expect(await filesOf()).toStrictEqual({
      'a.txt': 'one: by path',
      link: 'linked: by path',
      'b.txt': 'two: a file',
      file: 'three: a blob',
      'c.txt': 'four: handle',
    });
    const run = await openRun(store, session.runId);
    const [first, , third] = await run.readArtifacts({ artifactType: 'file' });
    expect(first).toMatchObject({ step: 3, metadata: { user: { why: 'test' } } });
    expect(third?.metadata).toMatchObject({ modified_at: '1970-01-01T00:00:00.000Z' });
  });

  test('that are none are refused', async () => {
    for (const wrong of [join(folder, 'none'), folder, 5, null])
      await expect(media.logFile('x', wrong as string)).rejects.toMatchObject({
        code: 'invalid_input',
        details: { field: 'file' },
      });
    await expect(media.logDirectory('x', join(folder, 'none'))).rejects.toMatchObject({
      details: { field: 'directory' },
    });
    await expect(media.logDirectory('x', '/etc/hostname')).rejects.toMatchObject({
      details: { field: 'directory' },
    });
    expect(await filesOf()).toStrictEqual({});
  });
});

describe('folders', () => {
  test('are logged with their paths; links that lead outside are reported', async () => {
    mkdirSync(join(folder, 'in/sub dir'), { recursive: true });
    mkdirSync(join(folder, 'in/node_modules'));
    writeFileSync(join(folder, 'in/node_modules/x.js'), 'no');
    writeFileSync(join(folder, 'in/.env'), 'A=1');
    writeFileSync(join(folder, 'in/sub dir/data.csv'), 'x,y');
    writeFileSync(join(folder, 'outside'), 'a secret');
    symlinkSync(join(folder, 'outside'), join(folder, 'in/leads-out'));
    symlinkSync(join(folder, 'in/.env'), join(folder, 'in/leads-in'));
    symlinkSync(join(folder, 'in'), join(folder, 'in/loop'));
    symlinkSync(join(folder, 'gone'), join(folder, 'in/broken'));
    execFileSync('mkfifo', [join(folder, 'in/pipe')]);
    const { records, skipped } = await media.logDirectory('conf', join(folder, 'in'));
    expect(records).toHaveLength(3);
    expect(await filesOf()).toStrictEqual({
      '.env': 'conf/x.env: A=1',
      'leads-in': 'conf/leads-in: A=1',
      'sub dir/data.csv': 'conf/sub_dir/data.csv: x,y',
    });
    expect(Object.fromEntries(skipped.map(({ path, reason }) => [path, reason]))).toStrictEqual({
      broken: 'it cannot be read (ENOENT)',
      'leads-out': 'it is a link that leads outside of the folder',
      loop: 'it is a link to a folder',
      pipe: 'it is no regular file',
    });
  });

  test('have bounds, and what is beyond them is returned', async () => {
    for (let i = 0; i < 5; i++) writeFileSync(join(folder, `${i}.txt`), 'x'.repeat(10));
    expect((await media.logDirectory('a', folder, { maxFiles: 2 })).skipped).toHaveLength(3);
    expect((await media.logDirectory('b', folder, { maxBytes: 30 })).records).toHaveLength(3);
    expect((await media.logDirectory('c', folder, { exclude: ['0.txt'] })).records).toHaveLength(4);
    await expect(media.logDirectory('d', folder, { exclude: 'x' as never })).rejects.toThrow(
      /options\.exclude/,
    );
  });

  test('come from handles and from picked files, too', async () => {
    const handle: DirectoryHandle = {
      kind: 'directory',
      name: 'root',
      async *values() {
        yield { kind: 'file', name: 'a', getFile: () => Promise.resolve(new Blob(['1'])) };
        yield { kind: 'file', name: 'no', getFile: () => Promise.reject(new Error('denied')) };
        yield {
          kind: 'directory',
          name: 'sub',
          async *values() {
            yield { kind: 'file', name: 'b', getFile: () => Promise.resolve(new Blob(['2'])) };
          },
        };
        yield { kind: 'directory', name: '.git', async *values() {} };
      },
    };
    const { skipped } = await media.logDirectory('h', handle);
    expect(skipped).toStrictEqual([{ path: 'no', reason: 'it cannot be read (denied)' }]);
    const picked = Object.assign(new File(['3'], 'c'), {});
    Object.defineProperty(picked, 'webkitRelativePath', { value: 'picked/c' });
    await media.logDirectory('p', [picked]);
    expect(await filesOf()).toStrictEqual({
      a: 'h/a: 1',
      'sub/b': 'h/sub/b: 2',
      'picked/c': 'p/picked/c: 3',
    });
  });

  test('every file has a key of its own', async () => {
    mkdirSync(join(folder, 'names'));
    for (const file of ['ä.txt', 'ö.txt', 'a b', 'a_b', '.env', 'xenv'])
      writeFileSync(join(folder, 'names', file), file);
    const { records } = await media.logDirectory('n', join(folder, 'names'));
    const keys = records.map(({ artifactKey }) => artifactKey);
    expect(keys.toSorted()).toEqual([
      'n/a_b',
      'n/a_b_2',
      'n/x.env',
      'n/x_.txt',
      'n/x_.txt_2',
      'n/xenv',
    ]);
  });

  test('every path gives a key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        const key = keyOfPath(path);
        if (key !== '') expect(checkKey('key', key)).toBe(key);
      }),
      runs(300),
    );
  });
});

describe('code', () => {
  const git = (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: folder,
      stdio: 'ignore',
    });
  };
  const codeHere = async (
    maxDiffBytes = 1 << 20,
  ): Promise<Awaited<ReturnType<typeof programFiles.readCode>>> => {
    const before = process.cwd();
    try {
      process.chdir(folder);
      return await programFiles.readCode(maxDiffBytes);
    } finally {
      process.chdir(before);
    }
  };

  test('outside of a repository has no commit, and fails in nothing', async () => {
    expect(await codeHere()).toMatchObject({
      commit: null,
      branch: null,
      diff: null,
      untracked: [],
      lockFile: null,
    });
  });

  test('has changes, new files, the lock file and versions', async () => {
    git('init', '-q', '-b', 'main');
    writeFileSync(join(folder, 'train.js'), 'const lr = 1;\n');
    writeFileSync(join(folder, 'package.json'), '{"dependencies":{"some":"1","../evil":"1"}}');
    writeFileSync(join(folder, 'package-lock.json'), '{"lock":1}');
    git('add', '.');
    git('commit', '-qm', 'first');
    writeFileSync(join(folder, 'train.js'), 'const lr = 2;\n');
    mkdirSync(join(folder, 'node_modules/some'), { recursive: true });
    writeFileSync(join(folder, 'node_modules/some/package.json'), '{"version":"1.2.3"}');
    writeFileSync(join(folder, 'new.js'), '');
    const code = await codeHere();
    expect(code).toMatchObject({
      branch: 'main',
      isDiffCut: false,
      lockFile: { name: 'package-lock.json' },
    });
    expect(code.commit).toMatch(/^[\da-f]{40}$/);
    expect(code.diff).toContain('+const lr = 2;');
    expect(code.untracked).toContain('new.js');
    expect(code.packages['some']).toBe('1.2.3');
    writeFileSync(join(folder, 'train.js'), 'x\n'.repeat(10_000));
    expect(await codeHere(1000)).toMatchObject({
      isDiffCut: true,
      diff: expect.stringMatching(/^[^]{1000}$/),
    });
  });

  test('of this process is logged, without secrets, and compared', async () => {
    await media.logCode({ secrets: [/lr/] });
    await session.endRun();
    const run = await openRun(store, session.runId);
    const code = await readRunCode(run);
    expect(code?.platform).toBe('node');
    expect(code?.packages['vitest']).toMatch(/^\d+\./);
    expect(code?.scripts[0]).toMatchObject({
      isEntry: true,
      sha256: expect.stringMatching(/^[\da-f]{64}$/),
    });
    expect(code?.diff ?? '').not.toContain('lr');
    expect(await compareCode(run, run)).toStrictEqual({
      isRecorded: true,
      code: [],
      files: [],
      packages: [],
      scripts: [],
      environment: [],
    });
    await expect(compareCode(run, {} as never)).rejects.toThrow(/second/);
  });

  test('of two runs differs in what was changed', async () => {
    const start = async (
      diff: string,
      version: string,
    ): Promise<Awaited<ReturnType<typeof openRun>>> => {
      const other = await startRun({ project: 'files', storage: store });
      const { ArtifactStore } = await import('quark-sdk/probes');
      const payload = {
        format_version: 1,
        platform: 'node',
        commit: 'c',
        branch: 'main',
        diff,
        is_diff_cut: false,
        untracked: [],
        lock_file: { name: 'yarn.lock', sha256: version },
        packages: { a: version, [`only-${version}`]: '1' },
        scripts: [{ path: 'x.js', sha256: version, is_entry: true }],
      };
      await new ArtifactStore(other).store('code', 'code', payload);
      await other.endRun();
      return openRun(store, other.runId);
    };
    const patch = (name: string, line: string): string =>
      `diff --git a/${name} b/${name}\n@@\n+${line}\n`;
    const first = await start(patch('same', '1') + patch('mine', '1') + patch('both', '1'), '1');
    const second = await start(patch('same', '1') + patch('both', '2') + patch('yours', '1'), '2');
    expect(await compareCode(first, second)).toStrictEqual({
      isRecorded: true,
      code: [{ path: 'lock_file', first: '1', second: '2' }],
      files: [
        { path: 'both', changedIn: 'both' },
        { path: 'mine', changedIn: 'first' },
        { path: 'yours', changedIn: 'second' },
      ],
      packages: [
        { path: 'a', first: '1', second: '2' },
        { path: 'only-1', first: '1', second: undefined },
        { path: 'only-2', first: undefined, second: '1' },
      ],
      scripts: [{ path: 'x.js', first: '1', second: '2' }],
      environment: [],
    });
    expect(await compareCode(first, await openRun(store, session.runId))).toMatchObject({
      isRecorded: false,
      packages: [],
    });
  });
});
