/** Children that are killed at random moments while they work. */
import { spawn } from 'node:child_process';

/**
 * Starts a child, kills it some time after it has begun to work, and returns what it said since: its lines after the first,
 * which says that it has begun. The time runs from line `from`, or the first line that is `from`: with 2 there is something to be
 * stored on any machine.
 */
export function runAndKill(
  args: readonly string[],
  maxLifeMs: number,
  from: number | string = 1,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let problems = '';
    let isDoomed = false;
    const isBegun = (): boolean =>
      typeof from === 'string' ? output.includes(`\n${from}\n`) : output.split('\n').length > from;
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
      if (isDoomed || !isBegun()) return;
      isDoomed = true;
      setTimeout(() => child.kill('SIGKILL'), Math.random() * maxLifeMs);
    });
    child.stderr.on('data', (data: Buffer) => {
      problems += data.toString();
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`The child ended by itself: ${problems}`));
      // What follows the last line break was cut off: it does not count.
      else resolve(output.split('\n').slice(1, -1));
    });
  });
}
