// `npm run matrix`: a server that records, and a page, are made by every bundler here, and run; prints a table of them. Needs a build
// (`npm run build`).
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, QUARK_WHOLE: '1' },
    shell: process.platform === 'win32',
    stdio: 'inherit',
  });
  return status ?? 1;
}

if (!existsSync(`${folder}node_modules`)) {
  const status = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  if (status !== 0) process.exit(status);
}
const table = `${root}build/matrix.md`;
rmSync(table, { force: true });
const file = 'test/package/bundlers.long.test.ts';
process.exitCode = run('npx', ['vitest', 'run', file, '--reporter=verbose'], root);
// Of what fails as well: the row says why.
if (existsSync(table)) console.log(readFileSync(table, 'utf8'));
