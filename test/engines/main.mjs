// What is missing after tabs were closed in the middle of a training, what a full quota costs, and whether the dashboard works, in
// Chromium, Firefox and WebKitGTK. Needs a build (`npm run build`). An engine that is not installed is skipped, with the package to install.
//
//   npm run test:engines -- [--engines chromium,firefox,webkit] [--closes 30] [--others 10] [--restarts 12] [--reloads 30] [--no-quota] [--no-dashboard] [--no-contract]
//
// A recorder logs a row every 10 ms and tells the server, right after `log` has returned, how many rows there are. The tab
// is closed at a random moment; the next start has to find every row that the server heard of, in order, each once. Pages that
// are loaded again resume their run, and of two tabs that resume at once one does. The last line is `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { closeDisplay, ENGINES, withBrowser, withProfile } from './browsers.mjs';
import { testDashboard } from './dashboard.mjs';
import { reloadPages, resumeTogether } from './resumes.mjs';
import { startSite } from './site.mjs';

const EVERY_MS = 10;
/** Allowed loss in engines that do not complete what a page or worker has sent, in milliseconds. */
const MAX_MISSING_MS = 50;
/** Shared workers of WebKit, whose rows are left to flushes: the pause of those, and one that is under way. */
const FLUSH_MISSING_MS = 1500;
const QUOTA_BYTES = 60_000_000;
const PATIENCE_MS = 120_000;

if (typeof WebSocket === 'undefined' && !process.execArgv.includes('--experimental-websocket')) {
  // Node 20 has it behind an option.
  const { status } = spawnSync(
    process.execPath,
    ['--experimental-websocket', ...process.execArgv, ...process.argv.slice(1)],
    { stdio: 'inherit' },
  );
  process.exit(status ?? 1);
}

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: Object.keys(ENGINES).join(',') },
    closes: { type: 'string', default: '30' },
    others: { type: 'string', default: '10' },
    restarts: { type: 'string', default: '12' },
    reloads: { type: 'string', default: '30' },
    'no-quota': { type: 'boolean', default: false },
    'no-dashboard': { type: 'boolean', default: false },
    'no-contract': { type: 'boolean', default: false },
  },
});
const engines = options.engines.split(',');
const unknown = engines.filter((name) => !Object.hasOwn(ENGINES, name));
if (unknown.length > 0) {
  console.error(
    `No engine is called ${unknown.join(', ')}. There are: ${Object.keys(ENGINES).join(', ')}.`,
  );
  process.exit(2);
}

let passed = 0;
let failed = 0;
let nextId = 0;
const table = [];
const resumeTable = [];

const sleep = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const untilClosed = () => 300 + Math.random() * 900;
const text = (value) => JSON.stringify(value);

/** Calls into the page, once it is ready. */
function ask(tab, call) {
  return tab.evaluate(
    `(async () => { while (globalThis.quarkEngines === undefined) await new Promise((go) => { setTimeout(go, 20); }); return quarkEngines.${call}; })()`,
  );
}

async function check(name, work) {
  const startedAtMs = performance.now();
  let timer;
  try {
    const said = await Promise.race([
      work(),
      new Promise((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error('It takes too long.')), PATIENCE_MS * 6);
      }),
    ]);
    passed++;
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
    console.log(`passed  ${name}: ${said} (${seconds} s)`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Sums up closes, and throws where one has lost more than it may. */
class Closes {
  #count = 0;
  #rows = 0;
  #missing = 0;
  #worst = 0;
  #withLoss = 0;
  #reported = 0;
  #wrong = [];

  add(known, found) {
    const missing = Math.max(0, known - found.rows);
    this.#count++;
    this.#rows += known;
    this.#missing += missing;
    this.#worst = Math.max(this.#worst, missing);
    if (missing > 0) this.#withLoss++;
    const isReported = found.events.some(({ eventType }) => eventType === 'rows_recovered');
    if (isReported) this.#reported++;
    if (!found.isWhole) this.#wrong.push('rows are doubled or out of order');
    if (missing > 0 && !isReported)
      this.#wrong.push(`${missing} rows are missing, and no event says so`);
  }

  end(version, where, mayMissMs) {
    table.push(
      `| ${version} | ${where} | ${this.#count} | ${this.#rows} | ${this.#withLoss} | ${this.#missing} | ${this.#worst * EVERY_MS} | ${this.#reported} |`,
    );
    const limit = mayMissMs / EVERY_MS;
    const sum = `${this.#count} closes, ${this.#rows} rows, ${this.#missing} missing, at most ${this.#worst} of one close`;
    if (this.#worst > limit) this.#wrong.push(`${sum}; at most ${limit} may be`);
    if (this.#wrong.length > 0) throw new Error([...new Set(this.#wrong)].join('; '));
    return sum;
  }
}

/** How many milliseconds of rows may be missing after the end of a recorder. */
function mayMiss(engine, where, isBrowserClosed = false) {
  if (where === 'shared worker') return engine === 'webkit' ? FLUSH_MISSING_MS : MAX_MISSING_MS;
  if (engine !== 'chromium') return MAX_MISSING_MS;
  // It gives its pages no `pagehide` when it is told to end, and its workers need none.
  return isBrowserClosed && where === 'page' ? MAX_MISSING_MS : 0;
}

/** Closes tabs while another stays open. */
async function closeTabs(engine, where, count, site) {
  return withProfile(engine, (profile) =>
    withBrowser(engine, profile, async (browser) => {
      const closes = new Closes();
      const stays = await browser.newTab(site.origin);
      for (let i = 0; i < count; i++) {
        const id = `${engine}-${nextId++}`;
        const tab = await browser.newTab(site.origin);
        const recording = { id, everyMs: EVERY_MS, rowsAtOnce: 1 };
        const runId = await ask(tab, `begin(${text(where)}, ${text(recording)})`);
        await sleep(untilClosed());
        await tab.close();
        // What was sent before the end is under way to the server.
        await sleep(200);
        closes.add(site.rows(id), await ask(stays, `look(${text(runId)})`));
      }
      return closes.end(browser.version, where, mayMiss(engine, where));
    }),
  );
}

/** Closes the whole browser, or its last window, and starts it again. */
async function closeBrowsers(engine, where, count, site) {
  return withProfile(engine, async (profile) => {
    const closes = new Closes();
    let version = engine;
    for (let i = 0; i < count; i++) {
      const id = `${engine}-${nextId++}`;
      const { visit } = ENGINES[engine];
      if (visit !== undefined) {
        version = 'MiniBrowser';
        const gone = visit(
          profile,
          `${site.origin}/?begin=${where}&id=${id}&closeAfterMs=${Math.round(untilClosed())}`,
        );
        const { runId } = await site.told(id);
        await gone;
        await visit(profile, `${site.origin}/?look=${runId}&id=${id}-look`);
        closes.add(site.rows(id), await site.told(`${id}-look`));
        continue;
      }
      const runId = await withBrowser(engine, profile, async (browser) => {
        ({ version } = browser);
        const tab = await browser.newTab(site.origin);
        const recording = { id, everyMs: EVERY_MS, rowsAtOnce: 1 };
        const begun = await ask(tab, `begin(${text(where)}, ${text(recording)})`);
        await sleep(untilClosed());
        return begun;
      });
      const found = await withBrowser(engine, profile, async (browser) =>
        ask(await browser.newTab(site.origin), `look(${text(runId)})`),
      );
      closes.add(site.rows(id), found);
    }
    return closes.end(version, `${where}, browser closed`, mayMiss(engine, where, true));
  });
}

async function fillQuota(engine, phase, site) {
  const { quota } = ENGINES[engine];
  return withProfile(engine, (profile) =>
    withBrowser(
      engine,
      profile,
      async (browser) => {
        const tab = await browser.newTab(site.origin);
        if (quota === 'set') await tab.setQuota(QUOTA_BYTES);
        const { model, problems } = await ask(tab, `train(${text(phase)}, ${text(quota)})`);
        if (text(model) !== text({ weights: [1, 2, 3] }))
          throw new Error(`run() returned ${text(model)} instead of the model`);
        if (problems.length === 0) throw new Error('onRecordingProblem was not called');
        const how = { set: 'set, and filled', fill: 'set, and filled', inject: 'injected' }[quota];
        return `the model is returned; quota ${how}; told: ${problems.join(', ')}`;
      },
      QUOTA_BYTES,
    ),
  );
}

/** The contract of stores, on files of the browser. */
async function testContract(engine, site) {
  return withProfile(engine, (profile) =>
    withBrowser(engine, profile, async (browser) => {
      const tab = await browser.newTab(site.origin);
      const { count, failed: wrong, lacking } = await ask(tab, 'contract()');
      if (lacking !== undefined) return `${browser.version}: not tested, there is no ${lacking}`;
      if (wrong.length > 0)
        throw new Error(`${wrong.length} of ${count} tests: ${wrong.join('; ')}`);
      return `${browser.version}: ${count} tests of the contract passed on opfs:`;
    }),
  );
}

async function testEngine(engine, site) {
  const closes = Number(options.closes);
  const others = Number(options.others);
  for (const [where, count] of [
    ['page', closes],
    ['worker', closes],
    ['nested worker', others],
    ['shared worker', others],
  ])
    if (count > 0) await check(`${engine}, ${where}`, () => closeTabs(engine, where, count, site));
  const restarts = Number(options.restarts);
  for (const where of restarts > 0 ? ['page', 'worker'] : [])
    await check(`${engine}, ${where}, browser closed`, () =>
      closeBrowsers(engine, where, restarts, site),
    );
  const reloads = Number(options.reloads);
  const tools = { ask, site, table: resumeTable };
  if (reloads > 0) {
    await check(`${engine}, pages loaded again`, () => reloadPages(engine, reloads, tools));
    await check(`${engine}, two tabs at once`, () => resumeTogether(engine, reloads, tools));
  }
  for (const phase of options['no-quota'] ? [] : ['start', 'middle', 'end'])
    await check(`${engine}, quota full at the ${phase}`, () => fillQuota(engine, phase, site));
  if (!options['no-contract'])
    await check(`${engine}, contract of files`, () => testContract(engine, site));
  if (!options['no-dashboard']) await testDashboard(engine, check);
}

const site = await startSite();
for (const engine of engines) {
  const missing = ENGINES[engine].missing();
  if (missing === undefined) await testEngine(engine, site);
  else console.log(`skipped ${engine}: it is not installed (${missing})`);
}
await closeDisplay();
await site.close();
console.log(`
| engine | recorder | closes | rows logged | closes with loss | rows missing | worst, ms | reported |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
${table.join('\n')}

| engine | how | resumed | refused | median, ms | worst, ms |
| --- | --- | ---: | ---: | ---: | ---: |
${resumeTable.join('\n')}

${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
