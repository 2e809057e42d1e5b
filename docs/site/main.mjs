// `npm run docs`: the documentation as a site in build/docs, readable from the folder itself and from any server, and checked.
//
//   npm run docs                 installs what builds it (docs/site/package.json) if needed, builds, checks
//   npm run docs -- --no-check   builds only
//   npm run docs -- --serve      builds, serves on a local port, and builds again what changes
//
// The last line of the check is `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';

const site = fileURLToPath(new URL('.', import.meta.url));
const root = join(site, '../..');
const output = 'build/docs';

const HELP = `npm run docs [-- options]
  --no-check     builds, and checks nothing
  --serve        serves the site, and builds again what changes
  --port PORT    of --serve; 8080 by default
  --only NAMES   checks only these: links, search, axe`;

/** Installs the packages that the lock file names, unless they are there. */
function install() {
  const wanted = readFileSync(join(site, 'package-lock.json'), 'utf8');
  const marker = join(site, 'node_modules/.installed-lock.json');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  console.log('Installing what builds the documentation ...');
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
  const { status } = spawnSync(command, [...args, 'ci', '--no-audit', '--no-fund'], {
    cwd: site,
    stdio: 'inherit',
    shell: !npm && process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`"npm ci" in docs/site ended with ${status}.`);
  writeFileSync(marker, wanted);
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      'no-check': { type: 'boolean', default: false },
      serve: { type: 'boolean', default: false },
      port: { type: 'string', default: '8080' },
      only: { type: 'string' },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  install();
  process.chdir(root);
  rmSync(output, { recursive: true, force: true });
  const { build, serve } = await import('./build.mjs');
  if (values.serve) {
    await serve(Number(values.port));
    return true;
  }
  const pages = await build();
  console.log(`${pages} pages in ${output}: open ${output}/index.html`);
  if (values['no-check']) return true;
  const { check } = await import('./checks/main.mjs');
  return check(join(root, output), values.only?.split(','));
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
