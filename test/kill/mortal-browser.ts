/** A Chromium with a profile that stays, whose processes can be killed at once. */
import { spawn, type ChildProcess } from 'node:child_process';
import { chromium, type Browser, type Page } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';

/** How long a loaded machine may take. */
const PATIENCE_MS = 120_000;

type Running = { readonly child: ChildProcess; browser?: Browser };

/** See the top of this file. */
export class MortalBrowser {
  readonly #profile: string;
  #running: Running | undefined;

  /** @param profile a folder */
  constructor(profile: string) {
    this.#profile = profile;
  }

  /** A new page, which waits until `window` has a name. Starts the browser where it does not run. */
  async openPage(origin: string, name: string): Promise<Page> {
    const [context] = (this.#running?.browser ?? (await this.#start())).contexts();
    if (context === undefined) throw new Error('The browser has no context.');
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(origin);
    await page.waitForFunction((wanted) => wanted in window, name);
    return page;
  }

  /**
   * A browser of our own making, as a group of processes that can be killed at once. It has a pipe to this process: where
   * this process ends before the test does, however it ends, so does the browser.
   */
  async #start(): Promise<Browser> {
    const child = spawn(
      await findChromium(),
      [
        ...CHROMIUM_ARGS,
        '--headless',
        '--remote-debugging-port=0',
        '--remote-debugging-pipe',
        `--user-data-dir=${this.#profile}`,
      ],
      { detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] },
    );
    // Known before it answers: a browser that does not has to be killed as well.
    const started: Running = { child };
    this.#running = started;
    const endpoint = await new Promise<string>((resolve, reject) => {
      let output = '';
      child.stderr?.on('data', (data: Buffer) => {
        output += data.toString();
        const found = /DevTools listening on (\S+)/.exec(output)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.on('error', reject);
      child.on('exit', () => reject(new Error(`The browser ended: ${output}`)));
    });
    started.browser = await chromium.connectOverCDP(endpoint, { timeout: PATIENCE_MS });
    return started.browser;
  }

  /** Kills all of its processes. */
  async kill(): Promise<void> {
    const killed = this.#running;
    this.#running = undefined;
    if (killed?.child.pid === undefined) return;
    const { child, browser } = killed;
    const group = -killed.child.pid;
    const gone = new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve(undefined);
      else child.on('exit', resolve);
    });
    try {
      if (process.platform === 'win32') child.kill('SIGKILL');
      else process.kill(group, 'SIGKILL');
    } catch {
      // All of the group have ended.
    }
    await gone;
    await browser?.close().catch(() => undefined);
  }
}
