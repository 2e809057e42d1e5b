/** The suite of stores runs under the test runner of Node, on the template of a store in examples/. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it("passes under Node's own runner of tests", () => {
  // Inside of the package, so that it finds itself by its name.
  const folder = mkdtempSync(fileURLToPath(new URL('../../build/store-testing-', import.meta.url)));
  const program = join(folder, 'journal.test.mjs');
  writeFileSync(
    program,
    `
    import { mkdtemp, rm } from 'node:fs/promises';
    import { join } from 'node:path';
    import { afterEach, beforeEach, describe, test } from 'node:test';
    import { testStore } from 'quark-sdk/store/testing';
    process.env.QUARK_EXAMPLE = 'import';
    const { openJournal } = await import('../../examples/own-store.mjs');
    testStore({ describe, test, beforeEach, afterEach }, 'journal', async (clock) => {
      const folder = await mkdtemp(join(import.meta.dirname, 'journal-'));
      return {
        open: () => openJournal(\`journal:\${folder}/journal.jsonl\`, { clock }),
        remove: () => rm(folder, { recursive: true, force: true }),
      };
    });`,
  );
  try {
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      ['--test', '--test-reporter=tap', program],
      { encoding: 'utf8' },
    );
    expect(stdout, stderr).toMatch(/^# fail 0$/m);
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(80);
    expect(status).toBe(0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
