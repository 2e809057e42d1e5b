// `npm run matrix`: a server that records is bundled for Node by every bundler here, and run. Needs a build (`npm run build`).
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
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
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(`${folder}node_modules`))
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
run('npx', ['vitest', 'run', 'test/package/bundlers.long.test.ts', '--reporter=verbose'], root);
