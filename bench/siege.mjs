// The service under siege: clients that leave, expensive requests, slow connections, one user's many keys. Real processes: a `quark
// serve` from dist/, the attackers at the lowest priority, and a user who works meanwhile. Ends with 1 when a criterion fails.
//
//   npm run bench -- siege [--short] [--long] [--only=PART,...] [--seed=1] [--json=FILE] [--dist=FOLDER]
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPooler, startPostgres } from './service/processes.mjs';
import { oldBuild } from './siege/upgrade/old-build.mjs';
import { bundle } from '../test/support/bundle.mjs';

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    only: {
      type: 'string',
      default: 'leave,expensive,slow,keys,powercut,mutate,routes,upgrade,kills,pooler,disks',
    },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
    dist: { type: 'string', default: fileURLToPath(new URL('../dist', import.meta.url)) },
  },
});
const build = fileURLToPath(new URL('../build/', import.meta.url));
await mkdir(build, { recursive: true });
const root = await mkdtemp(join(build, 'siege-'));
const seed = Number(options.seed);
const tables = [];
const criteria = [];
const load = () => loadavg()[0].toFixed(1);
try {
  const program = await bundle('bench/siege/siege-program.ts', { folder: join(root, 'program') });
  const forgetter = await bundle('bench/siege/kills/forgetter.ts', {
    folder: join(root, 'forgetter'),
  });
  const { PARTS, printed } = await import(
    await bundle('bench/siege/parts.ts', { folder: join(root, 'parts') })
  );
  const names = options.only.split(',');
  const unknown = names.filter((name) => !(name in PARTS));
  if (unknown.length > 0)
    throw new Error(
      `no part is called ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`,
    );
  console.log(
    `siege, ${options.long ? 'long' : 'short'} form, seed ${seed}; ${cpus().length} cores, Node ${process.version}, load ${load()}`,
  );
  for (const name of names) {
    const folder = await mkdtemp(join(root, `${name}-`));
    const startMs = performance.now();
    const siege = {
      dist: resolve(options.dist),
      folder,
      program,
      seed,
      isLong: options.long,
      servers: { postgres: startPostgres, pooler: startPooler },
      oldBuild,
      forgetter,
      upgradeClient: fileURLToPath(new URL('siege/upgrade/client.mjs', import.meta.url)),
    };
    const found = await PARTS[name](siege);
    for (const table of found.tables) console.log(printed(table));
    console.log(
      `\n${name}: ${((performance.now() - startMs) / 1_000).toFixed(0)} s, load ${load()}`,
    );
    tables.push(...found.tables);
    criteria.push(...found.criteria);
    // For the table of a campaign.
    const met = found.criteria.filter(({ isMet }) => isMet).length;
    console.log(
      `Figures: ${[`seed ${seed}`, `${met} of ${found.criteria.length} criteria`, ...(found.figures ?? [])].join(', ')}`,
    );
    await rm(folder, { recursive: true, force: true });
  }
  const verdicts = criteria.map(({ what, isMet, found }) => [
    isMet ? 'met' : 'FAILED',
    what,
    found,
  ]);
  console.log(printed({ title: 'Criteria', head: ['', 'criterion', 'found'], rows: verdicts }));
  if (options.json !== undefined)
    await writeFile(options.json, `${JSON.stringify({ seed, tables, criteria }, null, 2)}\n`);
  if (!criteria.every(({ isMet }) => isMet)) process.exitCode = 1;
} finally {
  await rm(root, { recursive: true, force: true });
}
