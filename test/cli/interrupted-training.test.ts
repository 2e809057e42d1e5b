/** The one line for `fit`, in the built package, when somebody presses Ctrl-C. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRun, openStorage } from '../../src/index.ts';

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-sigint-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!existsSync(file('dist/tfjs.js')))(
  'quarkCallback, built (needs "npm run build")',
  () => {
    it('ends training and run at the first SIGINT, with every finished batch recorded', async () => {
      const child = spawn(process.execPath, [
        file('test/support/interrupted-training.mjs'),
        folder,
      ]);
      let out = '';
      let errors = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (out === '') child.kill('SIGINT');
        out += text;
      });
      const ended = await new Promise((resolve) =>
        child.on('close', (code, signal) => resolve(signal ?? code)),
      );
      expect([ended, errors]).toStrictEqual(['SIGINT', '']);
      const told = /(?:^|\n)(run_\w+) step (\d+)\n(?!run_)/.exec(out) ?? [];
      const [, runId = '', steps = ''] = told;
      const store = await openStorage(folder, { create: false });
      try {
        const reader = await openRun(store, runId);
        expect(reader.run.status).toBe('interrupted');
        const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
        expect(Array.from(losses.steps)).toStrictEqual(
          Array.from({ length: losses.rowCount }, (_, step) => step),
        );
        expect(losses.rowCount).toBeGreaterThanOrEqual(Number(steps));
        // What happened within the last second is stored behind the interruption, with its own time.
        const events = await reader.readEvents();
        const types = events
          .toSorted((one, other) => one.timestamp.localeCompare(other.timestamp))
          .map(({ eventType }) => eventType);
        const ending = types.filter((type) => type !== 'overhead_measured').slice(-2);
        expect(ending).toStrictEqual(['runtime_interruption', 'run_ended']);
        expect(types).not.toContain('runtime_error');
      } finally {
        await store.close();
      }
    }, 120_000);
  },
);
