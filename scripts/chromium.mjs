// Finds a Chromium for the browser tests, or makes one out of an npm package that is already installed.
// `node scripts/chromium.mjs` prints the path of an executable that needs no further environment.
//
// Order: the CHROMIUM variable, an installed Chrome or Chromium, the one Playwright downloaded earlier, and last:
// on Linux x64 the binary that `@sparticuz/chromium` carries (no download, no system packages), elsewhere
// `playwright install chromium`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { tarEntries } from './tar.mjs';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));

/** Arguments for every launch: quiet, offline, and able to run as root in a container. */
export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Added where WebGL is needed: without a GPU the browser draws with SwiftShader, which has to be asked for. */
export const WEBGL_ARGS = [
  '--ignore-gpu-blocklist',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  // What is on the screen is drawn without it: half the processor time of a page with charts.
  '--disable-gpu-compositing',
];

/** Added where WebGPU is needed: as for WebGL. */
export const WEBGPU_ARGS = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

function installedCandidates() {
  if (process.platform === 'darwin') {
    return [
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
    ];
  }
  if (process.platform === 'win32') {
    const roots = ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA'];
    const tails = ['Google/Chrome/Application/chrome.exe', 'Microsoft/Edge/Application/msedge.exe'];
    return tails.flatMap((tail) =>
      roots.flatMap((name) => (process.env[name] ? [join(process.env[name], tail)] : [])),
    );
  }
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/snap/bin'];
  return names.flatMap((name) => folders.filter(Boolean).map((folder) => join(folder, name)));
}

/** On Windows `chrome --version` opens a window instead of answering, so there the file alone has to do. */
function starts(executable, env = process.env) {
  if (!existsSync(executable)) return false;
  if (process.platform === 'win32') return true;
  const answer = spawnSync(executable, ['--version', '--no-sandbox'], {
    env,
    timeout: 60_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return answer.status === 0;
}

async function playwrightPath() {
  const { chromium } = await import('playwright');
  try {
    return chromium.executablePath();
  } catch {
    return undefined; // Playwright throws where it has no browser for this system
  }
}

/** Unpacks an archive into a folder, and nowhere else. */
function untar(archive, folder) {
  for (const { name, isFolder, content } of tarEntries(archive)) {
    const target = resolve(folder, name);
    if (!target.startsWith(resolve(folder) + sep) && target !== resolve(folder)) {
      throw new Error(`The archive wants to write outside of its folder: ${name}`);
    }
    if (isFolder) mkdirSync(target, { recursive: true });
    else {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content, { mode: 0o755 });
    }
  }
}

const shellQuote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The script that stands for the browser, so that no caller has to know its libraries and fonts. */
function launcherText(folder, libraries) {
  const home = shellQuote(folder);
  const lines = [
    '#!/bin/sh',
    libraries ? `export LD_LIBRARY_PATH=${home}/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}` : '',
    `export FONTCONFIG_PATH=${home}`,
    `exec ${home}/chrome "$@"`,
    '',
  ];
  return lines.join('\n');
}

function fontsText(folder) {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`;
}

/** Both files name the folder they are in: in a repository that was moved, the one in which it was. */
function repairPaths(folder, launcher) {
  const libraries = readFileSync(launcher, 'utf8').includes('LD_LIBRARY_PATH');
  for (const [file, text, mode] of [
    [join(folder, 'fonts.conf'), fontsText(folder), 0o644],
    [launcher, launcherText(folder, libraries), 0o755],
  ]) {
    if (readFileSync(file, 'utf8') === text) continue;
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, text, { mode });
    renameSync(draft, file);
  }
}

/** Unpacks the npm package's browser below build/, once per version; safe when several processes do it at once. */
function unpackCarried() {
  const entry = require.resolve('@sparticuz/chromium');
  const packageRoot = resolve(dirname(entry), '..');
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
  const folder = join(root, 'build', `chromium-${version}`);
  const launcher = join(folder, 'chromium');
  if (existsSync(launcher)) {
    repairPaths(folder, launcher);
    return launcher;
  }

  const scratch = `${folder}.${process.pid}`;
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  const unpacked = (name) => brotliDecompressSync(readFileSync(join(packageRoot, 'bin', name)));
  writeFileSync(join(scratch, 'chrome'), unpacked('chromium.br'), { mode: 0o755 });
  for (const name of ['swiftshader.tar.br', 'al2023.tar.br', 'fonts.tar.br']) {
    untar(unpacked(name), scratch);
  }
  writeFileSync(join(scratch, 'fonts.conf'), fontsText(folder));
  // The libraries in the archive need glibc 2.34; an older system has to bring its own NSS.
  const withLibraries = { ...process.env, LD_LIBRARY_PATH: join(scratch, 'lib') };
  const needsLibraries = starts(join(scratch, 'chrome'), withLibraries);
  writeFileSync(join(scratch, 'chromium'), launcherText(folder, needsLibraries), { mode: 0o755 });
  try {
    renameSync(scratch, folder);
  } catch (error) {
    if (!existsSync(launcher)) throw error;
    rmSync(scratch, { recursive: true, force: true }); // another process was faster
  }
  return launcher;
}

/**
 * The path of a Chromium that starts on this machine. Unpacking takes a few seconds the first time; later calls
 * only look.
 */
export async function findChromium() {
  const wanted = process.env.CHROMIUM;
  if (wanted) {
    if (starts(wanted)) return wanted;
    throw new Error(`CHROMIUM is set to ${wanted}, which does not start. Unset it or correct it.`);
  }
  for (const candidate of installedCandidates()) if (starts(candidate)) return candidate;
  const downloaded = await playwrightPath();
  if (downloaded && starts(downloaded)) return downloaded;
  if (process.platform === 'linux' && process.arch === 'x64') {
    const carried = unpackCarried();
    if (starts(carried)) return carried;
  }
  const cli = join(dirname(require.resolve('playwright/package.json')), 'cli.js');
  spawnSync(process.execPath, [cli, 'install', 'chromium'], { stdio: ['ignore', 2, 2] });
  const installed = await playwrightPath();
  if (installed && starts(installed)) return installed;
  throw new Error(
    'No Chromium starts on this machine. Install Chrome or Chromium, or set CHROMIUM to its path.',
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  process.stdout.write(`${await findChromium()}\n`);
}
