// `npm run bench`: every program in bench/, one after the other, on what is built. `npm run bench -- storage` runs one.
// Each prints its own figures, as ratios within its run, and fails when one of them misses what is promised.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [wanted, ...args] = process.argv.slice(2);
const programs = readdirSync(join(root, 'bench'))
  .filter((name) => name.endsWith('.mjs'))
  .filter((name) => wanted === undefined || name === `${wanted}.mjs`)
  .toSorted();

if (!existsSync(join(root, 'dist/index.js'))) {
  console.error('dist/ is missing. Run "npm run build" first.');
  process.exit(1);
}
if (programs.length === 0) {
  console.error(`There is no bench/${wanted ?? '*'}.mjs.`);
  process.exit(1);
}
const failed = programs.filter((name) => {
  console.log(`\n== bench/${name}`);
  const { status } = spawnSync(process.execPath, [join(root, 'bench', name), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status !== 0;
});
console.log(`\n${programs.length - failed.length} of ${programs.length} benchmarks within bounds.`);
if (failed.length > 0) console.log(`Failed: ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
