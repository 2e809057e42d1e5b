import 'fake-indexeddb/auto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { openStorage } from '../../../src/location/open-storage.ts';
import { registerStorage, schemeOf } from '../../../src/store/registry.ts';
import { runOf } from '../../support/segments.ts';

const folders: string[] = [];
const start = process.cwd();

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'quark-open-'));
  folders.push(folder);
  return folder;
}

afterEach(async () => {
  vi.unstubAllGlobals();
  process.chdir(start);
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

describe('schemeOf', () => {
  test.each([
    ['memory:', 'memory'],
    ['FILE:/x', 'file'],
    ['https://host', 'https'],
    ['a+b.c-d:x', 'a+b.c-d'],
    ['C:\\runs', undefined],
    ['c:/runs', undefined],
    ['./a:b', undefined],
    ['runs', undefined],
    ['', undefined],
    ['1a:x', undefined],
  ])('%s has %s', (uri, scheme) => {
    expect(schemeOf(uri)).toBe(scheme);
  });
});

describe('openStorage', () => {
  test('each opening of "memory:" is a store of its own, a name is shared', async () => {
    const [a, b] = [await openStorage('memory:'), await openStorage('memory:')];
    await a.createRun(runOf());
    expect(await b.listRuns()).toEqual([]);
    const [c, d] = [await openStorage('memory:shared'), await openStorage('memory:shared')];
    await c.createRun(runOf());
    await c.close();
    expect(await d.listRuns()).toHaveLength(1);
  });

  test('a path and a "file:" URI open the same directory', async () => {
    const folder = await newFolder();
    const store = await openStorage(folder);
    await store.createRun(runOf());
    const same = await openStorage(store.uri);
    expect(await same.listRuns()).toHaveLength(1);
    expect(same.location.storageDir).toBe(folder);
    await store.close();
    await same.close();
  });

  test('in Node nothing means the current directory, also where a page is simulated', async () => {
    const folder = await newFolder();
    process.chdir(folder);
    vi.stubGlobal('window', {});
    const store = await openStorage();
    expect(store.location.storeRoot).toBe(join(process.cwd(), '.quark'));
    await store.close();
  });

  test('in a browser nothing means "idb:quark", a plain name a database', async () => {
    vi.stubGlobal('process', { versions: {} });
    const store = await openStorage();
    expect(store.uri).toBe('idb:quark');
    const named = await openStorage('lab');
    expect(named.uri).toBe('idb:lab');
    await store.close();
    await named.close();
  });

  test('the page of a desktop program is a browser', async () => {
    vi.stubGlobal('process', { versions: { node: '20.0.0' }, type: 'renderer' });
    const store = await openStorage();
    expect(store.uri).toBe('idb:quark');
    await store.close();
  });

  test('an unknown scheme is named, with those that are known', async () => {
    const failure = openStorage('s3://bucket');
    await expect(failure).rejects.toMatchObject({ code: 'store_failed', reason: 'unknown_scheme' });
    await expect(failure).rejects.toThrow(/"s3:".*file, http, https, idb, memory/);
    await expect(openStorage('constructor:x')).rejects.toMatchObject({ reason: 'unknown_scheme' });
  });

  test('a registered scheme is opened by its factory, with the URI and the options', async () => {
    const store = createMemoryStore();
    const factory = vi.fn(async () => store);
    registerStorage('test-lab', factory);
    const { signal } = new AbortController();
    expect(await openStorage('Test-Lab://x?y', { signal, create: false })).toBe(store);
    expect(factory).toHaveBeenCalledWith('Test-Lab://x?y', { signal, create: false });
  });

  test.each(['Lab', 'x:', '', 'a b'])('"%s" cannot be a scheme', (scheme) => {
    expect(() => registerStorage(scheme, async () => createMemoryStore())).toThrow(
      'scheme must be',
    );
  });

  test('wrong arguments', async () => {
    await expect(openStorage(5 as unknown as string)).rejects.toMatchObject({
      code: 'invalid_input',
    });
    const wrong = { sync: true } as unknown as object;
    await expect(openStorage('memory:', wrong)).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(openStorage('memory:', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    await expect(openStorage('http://')).rejects.toMatchObject({ code: 'invalid_input' });
  });
});
