/** The page's policy: it holds a key, so nothing but its own scripts runs in it, wherever it comes from. */
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { serveStore, type ServedStore } from 'quark-sdk/node';
import { createServer, type Server } from 'node:http';
import {
  collectErrors,
  DEMO_DIR,
  launchBrowser,
  panel,
  PATIENCE_MS,
  serveFiles,
} from './demo-browser.ts';
import { casesOf } from '../support/long.ts';

const LIMIT_MS = 2 * PATIENCE_MS;

describe.each(casesOf(['a server of the package', 'a host of files'], 1))(
  'the page of %s',
  (kind) => {
    const isServed = kind === 'a server of the package';
    let browser: Browser;
    let store: Store;
    let runId: string;
    let served: ServedStore | undefined;
    let files: { url: string; close: () => Promise<void> } | undefined;
    let other: Server;
    let otherUrl: string;
    let asked = 0;
    let url: string;

    beforeAll(async () => {
      store = createMemoryStore();
      ({ runId } = await TrainingSession.run(
        { project: 'digits', storage: store, handleSignals: false },
        async (session) => {
          const metrics = new MetricsLogger(session);
          for (let step = 0; step < 60; step++) metrics.log('train/loss', 1 / (step + 1), { step });
          return { runId: session.runId };
        },
      ));
      if (isServed) served = await serveStore({ store, dashboardDir: DEMO_DIR });
      else files = await serveFiles();
      url = served?.url ?? files?.url ?? '';
      other = createServer((_request, response) => {
        asked += 1;
        response.setHeader('access-control-allow-origin', '*');
        response.setHeader('cross-origin-resource-policy', 'cross-origin');
        response.setHeader('content-type', 'text/javascript');
        response.end('globalThis.stolen = true;');
      });
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      const address = other.address();
      otherUrl = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}/x.js`;
      browser = await launchBrowser();
    }, LIMIT_MS);
    afterAll(async () => {
      await browser?.close();
      await served?.close();
      await files?.close();
      other?.close();
      await store?.close();
    });

    const opened = async (): Promise<Page> => {
      const page = await browser.newPage({ locale: 'en-US' });
      page.setDefaultTimeout(PATIENCE_MS);
      await page.addInitScript(() => {
        const refused: string[] = [];
        Reflect.set(globalThis, 'refused', refused);
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) =>
          refused.push(effectiveDirective),
        );
      });
      await page.goto(url);
      await page.locator('main h1').first().waitFor();
      return page;
    };
    const refused = (page: Page): Promise<unknown> =>
      page.evaluate(() => Reflect.get(globalThis, 'refused'));

    it('works under it, with workers and WebAssembly', { timeout: LIMIT_MS }, async () => {
      const page = await opened();
      const errors = collectErrors(page);
      if (isServed) {
        await page.goto(`${url}#/runs/${runId}?view=analysis`);
        await page
          .getByText(/health/i)
          .first()
          .waitFor();
        await page.goto(`${url}#/runs/${runId}`);
      } else {
        await page.goto(`${url}?backend=cpu#/train`);
        await page.getByLabel('Epochs', { exact: true }).fill('1');
        await page.getByRole('button', { name: 'Start training' }).click();
      }
      await panel(page, 'loss').locator('canvas').waitFor();
      expect(await refused(page)).toEqual([]);
      expect(errors).toEqual([]);
      await page.close();
    });

    it('runs no script that somebody puts into it', { timeout: LIMIT_MS }, async () => {
      const page = await opened();
      const before = asked;
      await page.evaluate((address) => {
        const add = (fill: (script: HTMLScriptElement) => void): void => {
          const script = document.createElement('script');
          fill(script);
          document.body.append(script);
        };
        add((script) => (script.textContent = 'globalThis.stolen = true;'));
        add((script) => (script.src = address));
        add((script) => (script.src = 'data:text/javascript,globalThis.stolen = true;'));
        const image = document.createElement('img');
        image.setAttribute('onerror', 'globalThis.stolen = true;');
        image.src = 'data:image/png;base64,AAAA';
        document.body.append(image);
        const base = document.createElement('base');
        base.href = address;
        document.head.append(base);
        const frame = document.createElement('iframe');
        frame.srcdoc = '<script>parent.stolen = true;</script>';
        document.body.append(frame);
      }, otherUrl);
      await expect
        .poll(async () => new Set(Array.from((await refused(page)) as Iterable<unknown>)))
        .toEqual(new Set(['script-src-elem', 'script-src-attr', 'base-uri']));
      // Later, as the page itself: what a test evaluates at once is exempt.
      const [ran, evaluated] = await page.evaluate(
        () =>
          new Promise<readonly boolean[]>((resolve) => {
            const isStolen = Reflect.get(globalThis, 'stolen') === true;
            setTimeout(() => {
              try {
                // oxlint-disable-next-line typescript/no-implied-eval, no-new-func -- that it is refused is what is tested
                new Function('globalThis.stolen = true;')();
                resolve([isStolen, true]);
              } catch {
                resolve([isStolen, false]);
              }
            }, 0);
          }),
      );
      expect([ran, evaluated]).toEqual([false, false]);
      expect(asked).toBe(before);
      await page.close();
    });

    it.runIf(isServed)('tells nobody else what it holds', { timeout: LIMIT_MS }, async () => {
      const page = await opened();
      const before = asked;
      const outcome = await page.evaluate(async (address) => {
        const image = new Image();
        image.src = `${address}?key`;
        return fetch(address).then(
          () => 'sent',
          () => 'refused',
        );
      }, otherUrl);
      expect(outcome).toBe('refused');
      await expect
        .poll(async () => new Set(Array.from((await refused(page)) as Iterable<unknown>)))
        .toEqual(new Set(['img-src', 'connect-src']));
      expect(asked).toBe(before);
      await page.close();
    });
  },
);
