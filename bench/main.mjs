// `npm run bench` runs every benchmark, `npm run bench -- record storage` those named. Needs a build (`npm run build`).
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const NOT_A_BENCHMARK = new Set(['main.mjs', 'harness.mjs', 'made-segments.mjs', 'chromium.mjs']);
const known = readdirSync(folder)
  .filter((file) => file.endsWith('.mjs') && !NOT_A_BENCHMARK.has(file))
  .map((file) => file.slice(0, -'.mjs'.length));
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
if (options.includes('--help')) {
  console.log(
    `npm run bench -- [NAME...] [options]; without a name: all. There are: ${known.join(', ')}.`,
  );
  process.exit(0);
}
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`No benchmark is called ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  process.exit(2);
}
for (const name of asked.length > 0 ? asked : known) {
  const { status } = spawnSync(process.execPath, [`${folder}${name}.mjs`, ...options], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
