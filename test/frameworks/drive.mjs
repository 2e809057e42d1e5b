// Asks an app that runs for what its guide promises, over HTTP and in Chromium.
import { chromium } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';

const LIMIT_MS = 60_000;

/** Waits for the server; a server that has ended says so. */
export async function answered(url, child) {
  const endsAtMs = Date.now() + LIMIT_MS;
  while (Date.now() < endsAtMs) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the server does not answer');
}

async function json(url, method = 'GET') {
  // SvelteKit takes a POST without this for one of a form, and asks where that came from.
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, signal: AbortSignal.timeout(LIMIT_MS) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${new URL(url).pathname}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

function expected(what, found, wanted) {
  if (found !== wanted) throw new Error(`${what} is ${found}, not ${wanted}`);
}

/** How workers were started, in the words of the table. */
function workersOf(said) {
  expected('the mean', said.mean, 2);
  if (said.workerMode === 'none') throw new Error('no worker was started');
  return said.workerMode === 'url' ? 'yes' : 'yes, from the text';
}

/** The server records into SQLite, reads back, lists the run in what it renders, and merges on a thread of its own. */
export async function driveServer(base) {
  const { runId } = await json(`${base}/api/runs`, 'POST');
  const { rows, last } = await json(`${base}/api/runs?run=${runId}`);
  expected('the count of rows', rows, 250);
  expected('the last value', last, 1 / 250);
  const shown = await (await fetch(`${base}/runs`)).text();
  if (!shown.includes(runId)) throw new Error('/runs does not name the run');
  const said = await json(`${base}/api/check`);
  expected('the count of rows', said.rowCount, 70_000);
  expected('merging', said.isMerged, true);
  return { workers: workersOf(said), wasm: said.kernel };
}

/** The page records into IndexedDB at the click of its button, reads back, and asks a worker. */
export async function drivePage(base) {
  const browser = await chromium.launch({
    executablePath: await findChromium(),
    args: CHROMIUM_ARGS,
    timeout: LIMIT_MS,
  });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(LIMIT_MS);
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    const output = async (trigger) => {
      const endsAtMs = Date.now() + LIMIT_MS;
      while (Date.now() < endsAtMs) {
        await trigger(); // a click before the page is hydrated is lost
        await page.waitForTimeout(500);
        const text = await page.textContent('output');
        if (text) return text;
      }
      throw new Error(`the page says nothing: ${errors.join('; ')}`);
    };
    await page.goto(`${base}/`);
    const said = await output(() => page.click('button'));
    if (!said.startsWith('250 rows of run_')) throw new Error(`the page says: ${said}`);
    await page.goto(`${base}/check`);
    const checked = JSON.parse(await output(() => Promise.resolve()));
    if (errors.length > 0) throw new Error(errors.join('; '));
    return { workers: workersOf(checked), wasm: checked.kernel };
  } finally {
    await browser.close();
  }
}

/** A route of the edge runtime sends a run to a service. */
export async function driveEdge(base, path) {
  const { runId } = await json(`${base}${path}`, 'POST');
  return runId;
}
