/** `quark serve` and `quark keys` as processes of the built package, over sockets and signals. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { runOf } from '../support/segments.ts';
import { ask, bearer } from '../service/running-service.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const folders: string[] = [];
const children: ChildProcess[] = [];

beforeAll(() => {
  if (!existsSync(CLI)) throw new Error(`${CLI} is missing. Run "npm run build:lib" first.`);
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Served = {
  readonly child: ChildProcess;
  readonly port: number;
  readonly url: string;
  readonly isOpen: boolean;
  readonly log: () => string;
  readonly ended: Promise<number | null>;
};

function newFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'quark-serve-'));
  folders.push(made);
  return made;
}

function start(args: readonly string[]): { child: ChildProcess; ended: Promise<number | null> } {
  const env = { ...process.env, QUARK_PORT: '', QUARK_STORAGE: '', QUARK_LOG_LEVEL: 'debug' };
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => resolve(code));
  });
  return { child, ended };
}

async function quark(
  ...args: string[]
): Promise<{ out: string; err: string; code: number | null }> {
  const { child, ended } = start(args);
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
  return { code: await ended, out, err };
}

async function serve(dir: string, ...args: string[]): Promise<Served> {
  const { child, ended } = start([
    'serve',
    dir,
    '--port',
    '0',
    '--json',
    '--no-dashboard',
    ...args,
  ]);
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding('utf8').once('data', resolve);
    void ended.then((code) => reject(new Error(`It ended with ${code}: ${log}`)));
  });
  const { port, url, open } = JSON.parse(line) as { port: number; url: string; open: boolean };
  return { child, port, url, isOpen: open, log: () => log, ended };
}

/** An upload whose last byte is sent when `finish` is called. */
function slowUpload(port: number): {
  readonly arrived: Promise<void>;
  readonly finish: () => void;
  readonly status: Promise<number>;
} {
  const body = encodeUpload([metricSegmentOf(0)]);
  const asked = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v1/segments',
    headers: {
      'content-type': 'application/vnd.quark.upload',
      'content-length': String(body.byteLength),
    },
  });
  const status = new Promise<number>((resolve, reject) => {
    asked.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    asked.on('error', reject);
  });
  status.catch(() => undefined);
  const arrived = new Promise<void>((resolve) => {
    asked.write(body.subarray(0, -1), () => resolve());
  });
  return { arrived, finish: () => asked.end(body.subarray(-1)), status };
}

/** Waits until the service says that a request is under way besides the one that asks. */
async function untilInFlight(port: number, count: number): Promise<void> {
  for (;;) {
    const { text } = await ask(port, '/metrics');
    if (text.includes(`quark_http_requests_in_flight ${count}\n`)) return;
  }
}

describe('the service as a process', () => {
  it('finishes on SIGTERM what it has begun, takes nothing new, and ends with 0', async () => {
    const dir = newFolder();
    const service = await serve(dir);
    expect(service.isOpen).toBe(true);
    await (await openHttpStorage(service.url)).createRun(runOf());
    const upload = slowUpload(service.port);
    await upload.arrived;
    await untilInFlight(service.port, 2);
    service.child.kill('SIGTERM');
    // Nobody listens any longer, or those who still do are told no.
    for (;;) {
      const ready = await ask(service.port, '/readyz').catch(() => undefined);
      if (ready === undefined || ready.status === 503) break;
    }
    upload.finish();
    expect(await upload.status).toBe(200);
    expect(await service.ended).toBe(0);
    const store = await openFileStorage(dir);
    expect(await store.listSegments({ runId: 'run_1', table: 'metrics' })).toHaveLength(1);
    await store.close();
  });

  it('ends at once on a second signal', async () => {
    const service = await serve(newFolder());
    const upload = slowUpload(service.port);
    await upload.arrived;
    await untilInFlight(service.port, 2);
    service.child.kill('SIGTERM');
    for (;;) if ((await ask(service.port, '/readyz').catch(() => undefined)) === undefined) break;
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(130);
  });

  it('knows keys from the moment another process makes or revokes them, and logs none', async () => {
    const dir = newFolder();
    const service = await serve(dir);
    const get = async (key?: string): Promise<number> =>
      (await ask(service.port, '/api/v1/runs', key === undefined ? {} : { headers: bearer(key) }))
        .status;
    expect(await get()).toBe(200);
    const made = await quark('keys', 'create', 'alice', '--storage-dir', dir, '--expires', '2h');
    expect([made.code, made.out]).toEqual([0, expect.stringMatching(/^qk_[0-9A-Za-z]{61}\n$/)]);
    expect(made.err).toContain('not shown again');
    const key = made.out.trim();
    expect([await get(), await get(key)]).toEqual([401, 200]);
    const listed = await quark('keys', 'list', '--storage-dir', dir, '--json');
    const [known] = JSON.parse(listed.out) as { key_id: string; user: string; scope: string }[];
    expect(known).toMatchObject({ user: 'alice', scope: 'write', revoked_at: null });
    expect(listed.out).not.toContain(key.slice(15, 40));
    expect((await quark('keys', 'revoke', known?.key_id ?? '', '--storage-dir', dir)).code).toBe(0);
    expect(await get(key)).toBe(401);
    service.child.kill('SIGINT');
    expect(await service.ended).toBe(0);
    expect(service.log().split('\n').filter(Boolean).length).toBeGreaterThanOrEqual(4);
    expect(service.log()).not.toContain(key.slice(15, 40));
  });

  it('says what is wrong with what it was told', async () => {
    const dir = newFolder();
    const open = await quark('serve', dir, '--host', '0.0.0.0', '--open', '--no-dashboard');
    expect([open.code, open.err]).toEqual([2, expect.stringContaining('--open')]);
    const soon = await quark('keys', 'create', 'alice', '--expires', 'soon', '--storage-dir', dir);
    expect([soon.code, soon.err]).toEqual([2, expect.stringContaining('90d')]);
    const origin = await quark('serve', dir, '--allow-origin', 'nothing', '--no-dashboard');
    expect([origin.code, origin.err]).toEqual([1, expect.stringContaining('allowOrigins')]);
    expect((await quark('keys', 'list', '--storage-dir', join(dir, 'nothing'))).code).toBe(3);
    expect((await quark('keys', 'make')).code).toBe(2);
    expect((await quark('keys', 'create')).code).toBe(2);
  });
});
