// Chromium, Firefox and WebKitGTK behind one small interface: start with a profile, open a tab, evaluate in it, load it again, close it.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { connectBidi } from './bidi.mjs';

const START_MS = 60_000;
const REMOVING = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 };

const onPath = (name) =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));

function miniBrowser() {
  const root = '/usr/lib/x86_64-linux-gnu';
  const folders = existsSync(root) ? readdirSync(root) : [];
  return folders
    .filter((name) => name.startsWith('webkit2gtk-4') || name.startsWith('webkitgtk-'))
    .map((name) => join(root, name, 'MiniBrowser'))
    .find((file) => existsSync(file));
}

/** Programs that run, to be ended with this one. */
const running = new Set();
/** Profiles that are in use, to be removed with it. */
const profiles = new Set();

function endAll() {
  for (const { child } of running) {
    try {
      process.kill(-Number(child.pid), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  for (const profile of profiles) rmSync(profile, REMOVING);
}
process.once('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));

/** Starts a program as a group of its own, which `end` kills with all it has started. */
function start(command, args, env = {}) {
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const entry = { child };
  running.add(entry);
  let output = '';
  const listeners = new Set();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output = (output + data).slice(-20_000);
      for (const listener of listeners) listener();
    });
  const gone = new Promise((resolve) => {
    child.on('exit', resolve);
    child.on('error', resolve);
  });
  void gone.then(() => running.delete(entry));
  return {
    gone,
    said(pattern) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${command}: ${output}`)), START_MS);
        const look = () => {
          const found = pattern.exec(output);
          if (found === null) return;
          clearTimeout(timer);
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        void gone.then(() => {
          clearTimeout(timer);
          reject(new Error(`${command} ended: ${output}`));
        });
        look();
      });
    },
    async end() {
      try {
        process.kill(-Number(child.pid), 'SIGKILL');
      } catch {
        // It has ended.
      }
      await gone;
    },
  };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function openChromium(profile) {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: await findChromium(),
    headless: true,
    args: [...CHROMIUM_ARGS],
  });
  return {
    version: `Chromium ${context.browser()?.version() ?? ''}`,
    async newTab(url) {
      const page = await context.newPage();
      await page.goto(url);
      return {
        evaluate: (expression) => page.evaluate(expression),
        reload: () => page.reload(),
        close: () => page.close(),
        /** A small quota for the site of the page, or the one it had. */
        async setQuota(quotaSize) {
          const session = await context.newCDPSession(page);
          const { origin } = new URL(url);
          await session.send('Storage.overrideQuotaForOrigin', {
            origin,
            ...(quotaSize === undefined ? {} : { quotaSize }),
          });
        },
      };
    },
    end: () => context.close(),
  };
}

async function openFirefox(profile, quotaBytes) {
  await writeFile(
    join(profile, 'user.js'),
    [
      'user_pref("dom.disable_open_during_load", false);',
      'user_pref("app.update.enabled", false);',
      'user_pref("datareporting.policy.dataSubmissionEnabled", false);',
      'user_pref("toolkit.telemetry.enabled", false);',
      'user_pref("network.captive-portal-service.enabled", false);',
      'user_pref("network.connectivity-service.enabled", false);',
      'user_pref("browser.shell.checkDefaultBrowser", false);',
      'user_pref("extensions.update.enabled", false);',
      ...(quotaBytes === undefined
        ? []
        : [
            `user_pref("dom.quotaManager.temporaryStorage.fixedLimit", ${Math.ceil(quotaBytes / 1024)});`,
          ]),
      '',
    ].join('\n'),
  );
  const program = start('firefox-esr', [
    '--headless',
    '--no-remote',
    '--profile',
    profile,
    '--remote-debugging-port',
    '0',
  ]);
  try {
    const [, address] = await program.said(/WebDriver BiDi listening on (ws:\S+)/);
    const bidi = await connectBidi(address);
    const { browserName, browserVersion } = bidi.capabilities;
    return {
      version: `${browserName} ${browserVersion}`,
      async newTab(url) {
        const { context } = await bidi.send('browsingContext.create', { type: 'tab' });
        await bidi.send('browsingContext.navigate', { context, url, wait: 'complete' });
        return {
          async evaluate(expression) {
            const answer = await bidi.send('script.evaluate', {
              expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`,
              target: { context },
              awaitPromise: true,
            });
            if (answer.type !== 'success') throw new Error(answer.exceptionDetails.text);
            return JSON.parse(answer.result.value);
          },
          reload: () => bidi.send('browsingContext.reload', { context, wait: 'complete' }),
          close: () => bidi.send('browsingContext.close', { context }),
        };
      },
      async end() {
        await bidi.send('browser.close').catch(() => undefined);
        await Promise.race([program.gone, new Promise((r) => setTimeout(r, 5000))]);
        await program.end();
      },
    };
  } catch (error) {
    await program.end();
    throw error;
  }
}

let display;

/** A screen for MiniBrowser, which has no headless form. */
async function openDisplay() {
  if (process.env.DISPLAY) return process.env.DISPLAY;
  display ??= (async () => {
    const program = start('Xvfb', [
      '-displayfd',
      '1',
      '-screen',
      '0',
      '1024x768x24',
      '-nolisten',
      'tcp',
    ]);
    const [, number] = await program.said(/^(\d+)\n/m);
    return { program, name: `:${number}` };
  })();
  return (await display).name;
}

/** Ends the screen, if one was opened. */
export async function closeDisplay() {
  await (await display)?.program.end();
  display = undefined;
}

async function webkitEnv(profile) {
  return {
    DISPLAY: await openDisplay(),
    HOME: profile,
    XDG_DATA_HOME: join(profile, 'data'),
    XDG_CACHE_HOME: join(profile, 'cache'),
    XDG_CONFIG_HOME: join(profile, 'config'),
    GDK_BACKEND: 'x11',
    LIBGL_ALWAYS_SOFTWARE: '1',
    NO_AT_BRIDGE: '1',
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    WEBKIT_FORCE_SANDBOX: '0',
  };
}

async function openWebKit(profile) {
  const port = await freePort();
  const program = start('WebKitWebDriver', [`--port=${port}`], await webkitEnv(profile));
  const base = `http://127.0.0.1:${port}`;
  const ask = async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value?.error} ${value?.message}`);
    return value;
  };
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        await ask('GET', '/status');
        break;
      } catch (error) {
        if (attempt > 200) throw error;
        await new Promise((r) => setTimeout(r, 50));
      }
    }
    const { sessionId, capabilities } = await ask('POST', '/session', {
      capabilities: {
        alwaysMatch: {
          timeouts: { script: 120_000 },
          'webkitgtk:browserOptions': { binary: miniBrowser(), args: ['--automation'] },
        },
      },
    });
    const at = `/session/${sessionId}`;
    const first = await ask('GET', `${at}/window`);
    return {
      version: `${capabilities.browserName} ${capabilities.browserVersion}`,
      async newTab(url) {
        // A new tab belongs to the window that is current, and the last one may be closed.
        await ask('POST', `${at}/window`, { handle: first });
        const { handle } = await ask('POST', `${at}/window/new`, { type: 'window' });
        const here = async (work) => {
          await ask('POST', `${at}/window`, { handle });
          return work();
        };
        await here(() => ask('POST', `${at}/url`, { url }));
        return {
          evaluate: async (expression) =>
            JSON.parse(
              await here(() =>
                ask('POST', `${at}/execute/async`, {
                  script: `const done = arguments[0]; Promise.resolve(${expression}).then((value) => done(JSON.stringify(value ?? null)), (error) => done(JSON.stringify('failed: ' + error)));`,
                  args: [],
                }),
              ),
            ),
          reload: () => here(() => ask('POST', `${at}/refresh`, {})),
          close: () => here(() => ask('DELETE', `${at}/window`)),
        };
      },
      async end() {
        await ask('DELETE', at).catch(() => undefined);
        await program.end();
      },
    };
  } catch (error) {
    await program.end();
    throw error;
  }
}

/** MiniBrowser without a driver, with a profile that stays: resolves once the page has closed its only window. */
async function visit(profile, url) {
  const program = start(miniBrowser(), [url], await webkitEnv(profile));
  const timer = setTimeout(() => void program.end(), START_MS);
  await program.gone;
  clearTimeout(timer);
  await program.end();
}

/** The engines: how to open each, what is missing where it cannot be opened, and how its quota is used up. */
export const ENGINES = {
  chromium: { open: openChromium, missing: () => undefined, quota: 'set' },
  firefox: {
    open: openFirefox,
    missing: () => (onPath('firefox-esr') ? undefined : 'apt-get install firefox-esr'),
    quota: 'fill',
  },
  webkit: {
    open: openWebKit,
    visit,
    missing: () =>
      onPath('WebKitWebDriver') && onPath('Xvfb') && miniBrowser()
        ? undefined
        : 'apt-get install webkit2gtk-driver xvfb',
    quota: 'inject',
  },
};

/** Gives `work` a new profile, and removes it. */
export async function withProfile(engine, work) {
  const profile = await mkdtemp(join(tmpdir(), `quark-engines-${engine}-`));
  profiles.add(profile);
  try {
    return await work(profile);
  } finally {
    await rm(profile, REMOVING);
    profiles.delete(profile);
  }
}

/** Gives `work` a browser with a profile of its own, and ends it. */
export async function withBrowser(engine, profile, work, quotaBytes) {
  const browser = await ENGINES[engine].open(profile, quotaBytes);
  try {
    return await work(browser);
  } finally {
    await browser.end();
  }
}
