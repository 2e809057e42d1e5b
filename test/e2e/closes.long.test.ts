/** The short form of `npm run test:engines`: a few closes in Chromium, of tabs that record in the page and in workers. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { PATIENCE_MS } from './demo-browser.ts';

const PROGRAM = fileURLToPath(new URL('../engines/main.mjs', import.meta.url));

it(
  'closed tabs leave every row to the next start, and a full quota leaves the model to the caller',
  async () => {
    const counts = { closes: 2, others: 1, restarts: 0, reloads: 2 };
    // The dashboard has tests of its own in this engine.
    const options = [
      ...Object.entries(counts).flatMap(([name, count]) => [`--${name}`, String(count)]),
      '--no-dashboard',
    ];
    const child = spawn(process.execPath, [PROGRAM, '--engines', 'chromium', ...options]);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        said += data.toString();
      });
    try {
      const code = await new Promise((resolve) => {
        child.on('exit', resolve);
      });
      expect(said).toMatch(/\n10 passed, 0 failed\n$/);
      expect(code).toBe(0);
    } finally {
      // It ends its browsers with itself.
      child.kill('SIGTERM');
    }
  },
  3 * PATIENCE_MS,
);
