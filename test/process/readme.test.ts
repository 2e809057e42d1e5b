/** The examples of the README do what it says. Needs the build (`npm run build:lib`). */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('the Node examples run one after the other, and the command they name shows the run', async () => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  expect(examples).toHaveLength(8);
  const directory = await mkdtemp(join(tmpdir(), 'quark-readme-'));
  try {
    await mkdir(join(directory, 'node_modules'));
    await symlink(ROOT, join(directory, 'node_modules', 'quark-sdk'), 'dir');
    const run = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)(process.execPath, args, { cwd: directory })).stdout;
    const outputs: string[] = [];
    for (const [i, example] of examples.entries()) {
      await writeFile(join(directory, `example${i}.mjs`), example);
      outputs.push(await run(`example${i}.mjs`));
    }
    expect(outputs[0]).toBe('');
    expect(await run(join(ROOT, 'dist', 'cli.js'), 'runs')).toMatch(/first +completed/);
    expect(outputs[2]).toMatch(/^completed: 200 points, the last [\d.e-]+ at step 199\n$/);
    expect(outputs[3]).toBe('step 30: loss_percentile, loss_z_score, loss_iqr\n');
    expect(outputs[4]).toMatch(
      /^\d alerts, [3-6] phases, they part at \d+\n.*\(step \d+ to 299\)\. The report has plots\.\n$/,
    );
    expect(outputs[5]).toMatch(
      /^loss_divergence: train\/loss has risen .+[\s\S]*\nstopped: true; alerts: [1-9]\n$/,
    );
    expect(outputs[6]).toMatch(/^median 2\.\d\d, the level changes at 600\n$/);
    expect(outputs[7]).toMatch(/^(waiting|uploading): stored here\n$/);
    const command = /^npx quark-sdk (show run_\w+ --storage-dir quark-runs)\n$/.exec(
      outputs[1] ?? '',
    )?.[1];
    expect(await run(join(ROOT, 'dist', 'cli.js'), ...(command ?? '').split(' '))).toContain(
      'completed',
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
