/** What the server of the dashboard sends in fewer bytes, and to whom. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMemoryStore, listRuns, openStorage, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';

const SCRIPT = 'export const words = ["again"];\n'.repeat(400);

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
};

let folder: string;
let store: Store;
let server: ServedStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quark-compressed-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html>');
  await writeFile(join(folder, 'page.js'), SCRIPT);
  await writeFile(join(folder, 'data.gz'), Buffer.alloc(5000));
  store = createMemoryStore();
  for (let at = 0; at < 12; at += 1) {
    const session = await TrainingSession.startRun({
      project: 'p',
      storage: store,
      handleSignals: false,
    });
    await session.endRun();
  }
  server = await serveStore({ store, dashboardDir: folder });
});
afterAll(async () => {
  await server.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** The bytes as they come: `fetch` would say nothing of the coding. */
function get(path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(`${server.url}${path}`, { headers }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(parts),
        }),
      );
    })
      .on('error', reject)
      .end();
  });
}

it('sends files in the coding that the client prefers, and none to one that reads none', async () => {
  const plain = await get('page.js', {});
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.body.toString()).toBe(SCRIPT);
  const brotli = await get('page.js', { 'accept-encoding': 'gzip, deflate, br' });
  expect(brotli.headers['content-encoding']).toBe('br');
  expect(brotli.headers['vary']).toBe('accept-encoding');
  expect(brotli.body.byteLength).toBeLessThan(SCRIPT.length / 20);
  expect(brotliDecompressSync(brotli.body).toString()).toBe(SCRIPT);
  const gzipped = await get('page.js', { 'accept-encoding': 'gzip, br;q=0' });
  expect(gzipped.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(gzipped.body).toString()).toBe(SCRIPT);
});

it('knows each coding of a file by its own mark, and makes a changed file anew', async () => {
  const coded = { 'accept-encoding': 'br' };
  const { headers } = await get('page.js', coded);
  const mark = String(headers['etag']);
  expect(mark).not.toBe((await get('page.js', {})).headers['etag']);
  expect((await get('page.js', { ...coded, 'if-none-match': mark })).status).toBe(304);
  await writeFile(join(folder, 'page.js'), `${SCRIPT}// changed`);
  const changed = await get('page.js', { ...coded, 'if-none-match': mark });
  expect(brotliDecompressSync(changed.body).toString()).toBe(`${SCRIPT}// changed`);
});

it('leaves alone what gets no smaller', async () => {
  for (const path of ['index.html', 'data.gz', 'quark.json'])
    expect(
      (await get(path, { 'accept-encoding': 'br' })).headers['content-encoding'],
    ).toBeUndefined();
});

it('compresses the list of runs, which clients of the package read as before', async () => {
  const answer = await get('api/v1/runs', { 'accept-encoding': 'gzip' });
  expect(answer.headers['content-encoding']).toBe('gzip');
  const plain = await get('api/v1/runs', {});
  expect(gunzipSync(answer.body).toString()).toBe(plain.body.toString());
  const remote = await openStorage(server.url);
  expect(await listRuns(remote)).toHaveLength(12);
  await remote.close();
});
