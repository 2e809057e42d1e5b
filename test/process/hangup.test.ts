/** A training under nohup goes on when its terminal is closed. Node takes the ignored signal back; needs the build. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRun, openStorage } from 'quark-sdk';
import { casesOf } from '../support/long.ts';

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url));
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-hangup-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const inShell = (script: string, stdio: StdioOptions = ['ignore', 'pipe', 'inherit']) =>
  spawn('sh', ['-c', script, 'sh', process.execPath, CHILD, 'outlive', directory, go()], { stdio });
const go = (): string => join(directory, 'go');

/** As `nohup` has the standard input where it was a terminal: /dev/null, open for writing. */
function withoutInput(): ChildProcess {
  const input = openSync('/dev/null', 'w');
  try {
    return spawn(process.execPath, [CHILD, 'outlive', directory, go()], {
      stdio: [input, 'pipe', 'inherit'],
    });
  } finally {
    closeSync(input);
  }
}

const WAYS: readonly (readonly [string, () => ChildProcess])[] = [
  ['nohup, as a shell names it', () => inShell('_=$(command -v nohup); export _; exec nohup "$@"')],
  ['nohup, at a terminal', withoutInput],
  ['a script that ignores the signal', () => inShell('trap "" HUP; "$@" & echo $!; wait')],
];

describe.skipIf(process.platform !== 'linux')('a closed terminal', () => {
  for (const [name, start] of casesOf(WAYS, 2))
    test(`${name}: the training goes on`, async () => {
      const child = start();
      let text = '';
      child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
      const left = once(child, 'exit');
      await expect.poll(() => /run_\w+/.test(text), { timeout: 60_000 }).toBe(true);
      const runId = /run_\w+/.exec(text)?.[0] ?? '';
      // The script has printed the number of its training.
      process.kill(Number(/^\d+$/m.exec(text)?.[0] ?? child.pid), 'SIGHUP');
      await writeFile(go(), '');
      expect(await left).toEqual([0, null]);
      const store = await openStorage(directory);
      const reader = await openRun(store, runId);
      expect(reader.run).toMatchObject({ status: 'completed', statusReason: null });
      expect(Array.from((await reader.readMetricColumns()).values)).toEqual([1, 2]);
      await store.close();
    }, 90_000);
});
