// The first curve of a long metric: `quark serve` on SQLite, a session that recorded through it, and its page in Chromium.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright';
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.mjs';
import { median } from '../harness.mjs';

const KEY = 'train/loss';
/** A session flushes so often that a million steps are thousands of batches; that many samples are in each. */
const POINTS_PER_FLUSH = 1000;

/** Starts `quark serve`; the address is what it prints. */
async function serve(dist, directory) {
  const args = [
    join(dist, 'cli.js'),
    'serve',
    directory,
    '--port=0',
    '--json',
    '--log-level=error',
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (bytes) => {
      text += bytes;
      const found = /"(http:[^"]+)"/.exec(text);
      if (found !== null) resolve(found[1]);
    });
    child.once('exit', (code) => reject(new Error(`quark serve ended (${code})`)));
  });
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit');
        child.once('exit', resolve);
        child.kill('SIGTERM');
      }),
  };
}

/** Records a run into the service as a training does, in many flushes. An open one goes on while it is looked at. */
async function record(quark, url, localDir, points, isOpen) {
  const session = await quark.startRun({
    project: 'bench',
    storageDir: join(localDir, 'default'),
    persistenceUrl: url,
    userKey: null,
    handleSignals: false,
  });
  const metrics = new quark.MetricsLogger(session, { batchSize: POINTS_PER_FLUSH });
  let noise = 1;
  for (let step = 0; step < points; step++) {
    noise = (noise * 48271) % 2147483647;
    const value = 2 * Math.exp((-4 * step) / points) + 0.2 * (noise / 2147483647);
    metrics.log(KEY, value, { step, epoch: Math.floor((step * 20) / points) });
    if ((step + 1) % POINTS_PER_FLUSH === 0) await metrics.flush();
  }
  await metrics.flush();
  if (!isOpen) await session.endRun();
  await session.synced();
  return {
    runId: session.runId,
    close: async () => {
      await metrics.close();
      await session.close();
    },
  };
}

/** What is in the page before its own code: tells when the curve of all points is in a frame. */
function watchForCurve({ points }) {
  const isPainted = () => {
    const canvas = document.querySelector('.panel[data-group="loss"] canvas');
    const plot = document.querySelector('.panel[data-group="loss"] .u-over');
    if (canvas === null || plot === null) return false;
    const ratio = canvas.width / canvas.clientWidth;
    const frame = canvas.getBoundingClientRect();
    const inner = plot.getBoundingClientRect();
    const context = canvas.getContext('2d');
    const at = (share) => {
      const left = Math.round((inner.left - frame.left + share * (inner.width - 2)) * ratio);
      const top = Math.round((inner.top - frame.top) * ratio);
      const { data } = context.getImageData(left, top, 2, Math.round(inner.height * ratio));
      // Ink of the curve is blue; grid and ground are grey.
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 128 && data[i + 2] - data[i] > 60) return true;
      return false;
    };
    return [0.02, 0.3, 0.5, 0.7, 0.98].every(at);
  };
  globalThis.curveOf = async (path) => {
    performance.clearResourceTimings();
    location.hash = path;
    const label = `train/loss: ${points.toLocaleString('en-US')} points`;
    const chart = () => document.querySelector('.panel[data-group="loss"] .chart');
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    while (!(chart()?.ariaLabel ?? '').includes(label) || !isPainted()) await frame();
    // What this frame shows is on the screen when the next one begins.
    await frame();
    const drawnMs = performance.now();
    while (document.querySelector('.reading-note') !== null) await frame();
    const readMs = performance.now();
    const asked = performance
      .getEntriesByType('resource')
      .find(({ name }) => name.includes('/api/v1/runs/'));
    return { drawnMs: drawnMs - asked.startTime, readMs: readMs - asked.startTime };
  };
}

/**
 * Milliseconds from the first request for a run to its curve on the screen, each in a browser that was just started. `fresh`: nobody
 * has looked at the run before. `started`: the service was started a moment ago and remembers nothing.
 */
export async function runCurve({ dist, folder, points, rounds }) {
  const quark = await import(pathToFileURL(join(dist, 'index.js')));
  const directory = await folder('curve');
  let service = await serve(dist, directory);
  const recorded = [];
  const add = async (isOpen) => {
    recorded.push(await record(quark, service.url, await folder('local'), points, isOpen));
    return recorded.at(-1).runId;
  };
  const executablePath = await findChromium();
  const times = { fresh: [], second: [], started: [], open: [], read: [] };
  const look = async (runId) => {
    const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS });
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(120_000);
    await page.addInitScript(watchForCurve, { points });
    // A list with nothing in it: the rows of a list read curves, too.
    await page.goto(`${service.url}#/nothing`);
    await page.getByText('There is nothing here').waitFor();
    const found = await page.evaluate((path) => globalThis.curveOf(path), `#/runs/${runId}`);
    await browser.close();
    return found;
  };
  const openId = await add(true);
  for (let round = -1; round < rounds; round++) {
    const runId = await add(false);
    const found = {
      fresh: await look(runId),
      second: await look(runId),
      open: await look(openId),
    };
    await service.stop();
    service = await serve(dist, directory);
    found.started = await look(runId);
    if (round >= 0) for (const [name, one] of Object.entries(found)) times[name].push(one.drawnMs);
    if (round >= 0) times.read.push(found.fresh.readMs);
  }
  for (const one of recorded) await one.close();
  await service.stop();
  const row = (what, list, target) => ({
    what,
    value: median(list),
    unit: 'ms',
    ...(target === undefined ? {} : { target }),
  });
  return [
    row('curve of 1,000,000 points: first look at an ended run', times.fresh, 'under 300'),
    row('  the same run again, browser started anew', times.second, 'under 300'),
    row('  a run that goes on, 1,000 points to a flush', times.open, 'under 300'),
    row('  first look, service started a moment ago', times.started, 'under 300'),
    row('  first look: until every sample is in the page', times.read),
  ];
}
