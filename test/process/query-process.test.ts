/** `quark query` as a process: what ends it, and that its DuckDB ends with it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openStorage } from 'quark-sdk';
import {
  hasEnded,
  queryProcesses,
  residentMib,
  SHOWS_PROCESSES,
} from '../support/query-processes.ts';
import { casesOf, longTest } from '../support/long.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const HUGE = "select length(repeat('x', 2000000000))";

let folder = '';
const started: ChildProcess[] = [];

beforeAll(async () => {
  if (!existsSync(CLI)) throw new Error(`${CLI} is missing. Run "npm run build:lib" first.`);
  folder = mkdtempSync(join(tmpdir(), 'quark-query-process-'));
  await (await openStorage(folder)).close();
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function query(sql: string, ...args: string[]): ChildProcess & { readonly pid: number } {
  const child = spawn(
    process.execPath,
    [CLI, 'query', sql, '--storage-dir', folder, '--json', '--max-memory', '4096', ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  started.push(child);
  const { pid } = child;
  if (pid === undefined) throw new Error('It did not start.');
  return Object.assign(child, { pid });
}

async function outcome(child: ChildProcess): Promise<{ code: unknown; error: unknown }> {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const [code] = await once(child, 'close');
  return { code, error: JSON.parse(text) };
}

/** The process of the query, once DuckDB is in the middle of it. */
async function underWay(parent: number): Promise<number> {
  await expect.poll(() => residentMib(parent)).toBeGreaterThan(300);
  return queryProcesses(parent)[0] ?? expect.unreachable('It ended.');
}

describe.runIf(SHOWS_PROCESSES)('quark query', () => {
  test.each(casesOf(['SIGINT', 'SIGTERM'] as const, 1))('is ended by %s', async (signal) => {
    const command = query(HUGE);
    const ended = outcome(command);
    const pid = await underWay(command.pid);
    command.kill(signal);
    expect(await ended).toMatchObject({ code: 1, error: { error: { code: 'aborted' } } });
    await expect.poll(() => hasEnded(pid)).toBe(true);
  });

  test('killed by SIGKILL leaves no process behind', async () => {
    const command = query(HUGE);
    const pid = await underWay(command.pid);
    command.kill('SIGKILL');
    await expect.poll(() => hasEnded(pid)).toBe(true);
  });

  longTest('ends with its time limit', async () => {
    const ended = await outcome(query(HUGE, '--timeout', '1'));
    expect(ended).toMatchObject({
      code: 1,
      error: { error: { code: 'invalid_input', details: { option: 'timeoutMs', limit: 1_000 } } },
    });
  });
});
