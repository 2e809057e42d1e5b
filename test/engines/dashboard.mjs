// The dashboard as each engine draws it: list, run, tabs, zoom, comparison. What is done there is done by events and clicks of the
// page's own elements, since the three drivers share no more than scripts.
import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
import { serveStore } from 'quark-sdk/node';
import { withBrowser, withProfile } from './browsers.mjs';

const DEMO = join(import.meta.dirname, '../../dist/demo');
const RUNS = 12;
const STEPS = 400;

/** Runs before the page: hears of whatever goes wrong in it. */
const LISTENER = `
globalThis.wentWrong = [];
addEventListener('error', ({ message }) => globalThis.wentWrong.push(String(message)));
addEventListener('unhandledrejection', ({ reason }) => globalThis.wentWrong.push(String(reason)));
addEventListener('securitypolicyviolation', ({ blockedURI }) => globalThis.wentWrong.push('refused: ' + blockedURI));
const sayError = console.error;
console.error = (...all) => { globalThis.wentWrong.push(all.map(String).join(' ')); sayError(...all); };
`;

/** What every script of a check begins with. */
const TOOLS = `
  const until = async (what, find) => {
    for (const end = performance.now() + 60_000; performance.now() < end;) {
      const found = find();
      if (found) return found;
      await new Promise((go) => { setTimeout(go, 50); });
    }
    throw new Error('There is no ' + what + ': ' + document.body.innerText.slice(0, 300));
  };
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const go = (hash) => { location.hash = hash; };
  const isDrawn = (canvas) => {
    const { width, height } = canvas;
    if (width === 0 || height === 0) return false;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    return data.some((value, at) => at % 4 === 3 && value > 0);
  };
`;

/** The checks, in this order, in one tab: a name, and a script that throws or gives what it found. */
const CHECKS = (runIds) => [
  [
    'the list has its runs and small curves',
    `await until('row', () => all('.run-row').length >= ${RUNS} && one('.run-row .spark path'));
     return all('.run-row').length + ' rows';`,
  ],
  [
    'a click on the head of a column sorts',
    `const head = await until('column', () => all('th .sort').find((button) => /Run/.test(button.innerText)));
     head.click();
     const names = () => all('.run-row').map((row) => /run (\\d+)/.exec(row.innerText)?.[1]).filter(Boolean);
     const isSorted = () => { const n = names(); return n.length >= ${RUNS} && n.every((x, i) => i === 0 || x >= n[i - 1]); };
     await until('sorted list', () => head.closest('th').ariaSort !== 'none' && isSorted());
     return head.closest('th').ariaSort;`,
  ],
  [
    'the query line narrows the list',
    `const line = await until('query line', () => one('[role="combobox"]'));
     line.focus();
     line.value = 'config.at < 4';
     line.dispatchEvent(new InputEvent('input', { bubbles: true }));
     line.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
     await until('shorter list', () => all('.run-row').length === 4);
     go('#/');
     return '4 rows';`,
  ],
  [
    'a run has its charts drawn',
    `go('#/runs/${runIds[0]}');
     const canvas = await until('chart', () => all('.panel canvas').find(isDrawn));
     return canvas.width + ' x ' + canvas.height;`,
  ],
  [
    'a chart is zoomed by a key, and shown whole again',
    `const plot = await until('plot', () => one('.panel [role="application"], .panel .chart[tabindex]'));
     plot.focus();
     plot.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
     await until('zoom in the address', () => location.hash.includes('zoom='));
     const zoomed = location.hash.split('zoom=')[1];
     plot.dispatchEvent(new KeyboardEvent('keydown', { key: '0', bubbles: true }));
     await until('whole range', () => !location.hash.includes('zoom='));
     return decodeURIComponent(zoomed);`,
  ],
  [
    'a curve that is switched off is struck through in the legend',
    `const item = await until('legend', () => one('.legend-item'));
     item.click();
     await until('switched-off curve', () => one('.legend-item[aria-pressed="false"] .legend-name'));
     const { backgroundImage, backgroundSize } = getComputedStyle(one('.legend-item[aria-pressed="false"] .legend-name'));
     one('.legend-item[aria-pressed="false"]').click();
     if (!/gradient/.test(backgroundImage)) throw new Error('nothing is drawn through it: ' + backgroundImage);
     return backgroundSize;`,
  ],
  [
    'each tab opens, and the tabs have no scroll bar',
    `const names = all('.run-tabs a').map((tab) => tab.getAttribute('href'));
     for (const href of names) {
       go(href);
       await until('tab ' + href, () => one('.run-tabs a[aria-current]')?.getAttribute('href') === href && !one('.run-view .waiting'));
       const tabs = one('.run-tabs');
       const { borderTopWidth, borderBottomWidth } = getComputedStyle(tabs);
       const bar = tabs.offsetHeight - tabs.clientHeight - parseFloat(borderTopWidth) - parseFloat(borderBottomWidth);
       if (bar > 0.5 || tabs.scrollHeight > tabs.clientHeight) throw new Error(href + ' has a bar of ' + bar + ' px');
     }
     return names.length + ' tabs';`,
  ],
  [
    'a comparison draws its charts, and its tabs open',
    `go('#/compare?runs=${runIds.slice(0, 4).join()}');
     await until('chart', () => all('.panel canvas').find(isDrawn));
     for (const [tab, sign] of [['values', '.value-cell'], ['scatter', '.scatter'], ['parallel', '.parallel-grip']]) {
       go('#/compare?runs=${runIds.slice(0, 4).join()}&tab=' + tab);
       await until(tab, () => one(sign));
     }
     return '4 tabs';`,
  ],
  [
    'no page scrolls sideways',
    `const wide = [];
     for (const hash of ['#/', '#/runs/${runIds[0]}', '#/compare?runs=${runIds.slice(0, 4).join()}', '#/train']) {
       go(hash);
       await until('page', () => one('#app h1'));
       await new Promise((next) => { setTimeout(next, 300); });
       const by = document.documentElement.scrollWidth - document.documentElement.clientWidth;
       if (by > 0) wide.push(hash + ' by ' + by + ' px');
     }
     if (wide.length > 0) throw new Error(wide.join());
     return innerWidth + ' px wide';`,
  ],
  [
    'nothing went wrong on the way',
    `if (wentWrong.length > 0) throw new Error(wentWrong.join('; '));
     return 'no error';`,
  ],
];

async function record(store, at) {
  const session = await TrainingSession.startRun({
    project: 'engines',
    storage: store,
    name: `run ${String(at).padStart(2, '0')}`,
    config: { at, rate: [0.1, 0.01, 0.001][at % 3] },
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < STEPS; step++) {
    const loss = 2 * Math.exp(-step / (60 + at)) + at / 50;
    metrics.logMany({ 'train/loss': loss, 'val/accuracy': 1 - loss / 3 }, { step });
  }
  await session.endRun();
  return session.runId;
}

/** A server of the page over a few runs, with a listener in the page. */
async function servePage() {
  const folder = await mkdtemp(join(tmpdir(), 'quark-engines-page-'));
  await cp(DEMO, folder, { recursive: true });
  await appendFile(join(folder, 'before-paint.js'), LISTENER);
  const store = createMemoryStore();
  const runIds = [];
  for (let at = 0; at < RUNS; at++) runIds.push(await record(store, at));
  const server = await serveStore({ store, dashboardDir: folder });
  return {
    url: server.url,
    runIds,
    async close() {
      await server.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Checks the dashboard in one engine; `check(name, work)` counts each. */
export async function testDashboard(engine, check) {
  const page = await servePage();
  try {
    await withProfile(engine, (profile) =>
      withBrowser(engine, profile, async (browser) => {
        const tab = await browser.newTab(page.url);
        for (const [name, script] of CHECKS(page.runIds))
          await check(`${engine}, dashboard: ${name}`, async () => {
            const said = await tab.evaluate(
              `(async () => { ${TOOLS} try { return { said: await (async () => { ${script} })() }; } catch (error) { return { error: String(error) }; } })()`,
            );
            if (said.error !== undefined) throw new Error(said.error);
            return said.said;
          });
      }),
    );
  } finally {
    await page.close();
  }
}
