// A user's project, made outside of the repository so that nothing is found here by accident: the packed tarball
// unpacked into node_modules, and the declared dependencies linked in place of a download.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { packPackage, unpackInto } from '../../scripts/pack.mjs';

export const REPOSITORY: string = fileURLToPath(new URL('../../', import.meta.url));
export const DIST: string = join(REPOSITORY, 'dist');

type Manifest = { readonly optionalDependencies: Readonly<Record<string, string>> };

/** `npm pack` of what is built. @returns the tarball's path, in a folder of its own below the system's temporary one */
export function packTarball(): string {
  if (!existsSync(join(DIST, 'index.js'))) {
    throw new Error('dist/ is missing. Run "npm run build" before the package tests.');
  }
  const folder = mkdtempSync(join(tmpdir(), 'quark-pack-'));
  return packPackage(folder).tarball;
}

/** One scratch project. `files` are written relative to its root. */
export class Consumer {
  readonly root: string;

  constructor(tarball: string, files: Readonly<Record<string, string>>) {
    this.root = mkdtempSync(join(tmpdir(), 'quark-consumer-'));
    const modules = join(this.root, 'node_modules');
    const installed = unpackInto(this.root, tarball);
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest;
    for (const name of Object.keys(manifest.optionalDependencies)) {
      if (!existsSync(join(REPOSITORY, 'node_modules', name))) continue; // of another platform
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(REPOSITORY, 'node_modules', name), join(modules, name), 'junction');
    }
    const all = { 'package.json': JSON.stringify({ type: 'module', private: true }), ...files };
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(dirname(join(this.root, name)), { recursive: true });
      writeFileSync(join(this.root, name), text);
    }
  }

  /** Runs a file of the project in Node and gives what it printed, parsed. */
  run(file: string, ...args: string[]): unknown {
    const ended = spawnSync(process.execPath, [file, ...args], {
      cwd: this.root,
      encoding: 'utf8',
      timeout: 60_000,
    });
    if (ended.status !== 0) throw new Error(`${file} ended with ${ended.status}: ${ended.stderr}`);
    return JSON.parse(ended.stdout);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

const MIME: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

/**
 * A static server without any knowledge of modules. It answers 404 to `hidden`, to play a file that was not deployed, and sends
 * `headers` with everything.
 */
export class StaticServer {
  readonly #server: Server;
  readonly requested: string[] = [];

  constructor(root: string, hidden?: RegExp, headers: Readonly<Record<string, string>> = {}) {
    this.#server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
      this.requested.push(path);
      const file = normalize(join(root, path.endsWith('/') ? `${path}index.html` : path));
      const isServed = file.startsWith(root + sep) && existsSync(file) && !hidden?.test(path);
      response.writeHead(isServed ? 200 : 404, {
        ...headers,
        'content-type': MIME[extname(file)] ?? 'text/plain',
      });
      response.end(isServed ? readFileSync(file) : 'not found');
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(),
    args: CHROMIUM_ARGS,
    timeout: 120_000,
  });
}

/** What a page put into `globalThis.outcome`, and everything it complained about on the way. */
export type PageOutcome = { readonly outcome: unknown; readonly errors: readonly string[] };

/** Opens a page in a profile of its own and waits for its outcome. */
export async function openPage(browser: Browser, url: string): Promise<PageOutcome> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  try {
    await page.goto(url);
    const handle = await page
      .waitForFunction(() => Reflect.get(globalThis, 'outcome') as unknown, undefined, {
        timeout: 60_000,
      })
      .catch((error: unknown) => {
        throw new Error(`The page gave no outcome. It said: ${errors.join('; ')}`, {
          cause: error,
        });
      });
    return { outcome: await handle.jsonValue(), errors };
  } finally {
    await context.close();
  }
}
