// `npm start`: builds what is missing or older than its sources, then runs `quark demo` with the arguments given. What the build
// prints is shown where it fails only.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'dist/cli.js');

/** The youngest modification below a path, in epoch milliseconds; 0 where there is nothing. */
function newestMs(path) {
  if (!existsSync(path)) return 0;
  const status = statSync(path);
  if (!status.isDirectory()) return status.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

function isStale() {
  const products = [cli, join(root, 'dist/demo/index.html')];
  if (!products.every((path) => existsSync(path))) return true;
  const oldestProduct = Math.min(...products.map((path) => statSync(path).mtimeMs));
  const sources = [
    'src',
    'worker',
    'assembly',
    'dashboard',
    'demo',
    'vite.config.ts',
    'package-lock.json',
  ];
  return sources.some((path) => newestMs(join(root, path)) > oldestProduct);
}

if (isStale()) {
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
  process.stderr.write('Building quark-sdk, once: this takes about a minute ...\n');
  const built = spawnSync(command, [...args, 'run', 'build'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    shell: !npm && process.platform === 'win32',
  });
  if (built.status !== 0) {
    process.stderr.write(`${built.stdout ?? ''}${built.stderr ?? ''}The build failed.\n`);
    process.exit(built.status ?? 1);
  }
}

// In this process, so that signals and the terminal reach the command as if it had been started by itself.
process.argv = [process.execPath, cli, 'demo', ...process.argv.slice(2)];
await import(pathToFileURL(cli).href);
