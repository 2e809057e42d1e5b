// Runs one program of a test command to its end, with everything it starts.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

const isWindows = process.platform === 'win32';

/** A program that a dependency brings. */
export const bin = (name) => join(root, 'node_modules/.bin', name);

/** A script of package.json. */
export const script = (name, ...args) => {
  const npm = process.env.npm_execpath;
  const rest = ['run', name, ...(args.length === 0 ? [] : ['--', ...args])];
  return npm ? [process.execPath, [npm, ...rest]] : ['npm', rest];
};

/**
 * Runs one program to its end and gives its exit code; one that takes longer than `limitMs` is ended with all it started,
 * as it is when this process is interrupted. What it says is shown at once, handed to `hear`, or both.
 */
export function run(command, args, { hear, isQuiet = false, limitMs, env = {} }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', hear ? 'pipe' : 'inherit', hear ? 'pipe' : 'inherit'],
      shell: isWindows,
      detached: !isWindows,
    });
    for (const [stream, own] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ])
      stream?.on('data', (chunk) => {
        hear(chunk);
        if (!isQuiet) own.write(chunk);
      });
    const end = () => {
      try {
        process.kill(isWindows ? Number(child.pid) : -Number(child.pid), 'SIGKILL');
      } catch {
        child.kill('SIGKILL'); // the group is gone already
      }
    };
    const timer = setTimeout(() => {
      console.error(`${command} did not end within ${limitMs / 60_000} minutes.`);
      end();
    }, limitMs);
    const interrupt = () => {
      end();
      process.exit(130);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.once(signal, interrupt);
    const settle = (code) => {
      clearTimeout(timer);
      for (const signal of signals) process.removeListener(signal, interrupt);
      resolve(code);
    };
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      settle(1);
    });
    child.on('close', (code) => settle(code ?? 1));
  });
}
