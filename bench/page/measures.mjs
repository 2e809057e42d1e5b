// Frames, tasks, memory and requests of a page in Chromium.
import { readFile } from 'node:fs/promises';

/** In the page before its own code: layout shifts, and distances between frames while something is measured. */
export function watchPage() {
  globalThis.shift = 0;
  globalThis.shifted = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      globalThis.shift += entry.value;
      for (const { node } of entry.sources)
        globalThis.shifted.push(
          `${entry.value.toFixed(4)} ${node?.nodeName ?? ''}.${node?.className ?? ''}`,
        );
    }
  }).observe({ type: 'layout-shift', buffered: true });
  new MutationObserver((_, observer) => {
    if (document.querySelector('.run-row') === null) return;
    globalThis.firstRowAtMs = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
  globalThis.frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  globalThis.framesOf = async (count) => {
    const gaps = [];
    let last = await globalThis.frame();
    while (gaps.length < count) {
      const now = await globalThis.frame();
      gaps.push(now - last);
      last = now;
    }
    return gaps.toSorted((a, b) => a - b);
  };
}

const part = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Does `work` while frames are counted and tasks traced. */
export async function measured(browser, page, frameCount, work) {
  const tracing = await traced(browser, page);
  const frames = page.evaluate((count) => globalThis.framesOf(count), frameCount);
  await work();
  const gaps = await frames;
  return { p95: part(gaps, 0.95), median: part(gaps, 0.5), ...(await tracing.end()) };
}

/** Traces tasks until `end`, which says how long the longest was of the thread that draws the page. */
export async function traced(browser, page) {
  await browser.startTracing(page, {
    categories: ['toplevel', 'disabled-by-default-devtools.timeline', 'devtools.timeline'],
  });
  return {
    end: async () => {
      const trace = JSON.parse((await browser.stopTracing()).toString());
      return longestTask(trace.traceEvents);
    },
  };
}

/** By the clock and in processor time. */
function longestTask(events) {
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && main.has(`${pid} ${tid}`),
  );
  const most = (of) => tasks.reduce((max, task) => Math.max(max, (of(task) ?? 0) / 1000), 0);
  return { taskMs: most(({ dur }) => dur), taskCpuMs: most(({ tdur }) => tdur) };
}

/** Private memory of the process that shows the page, in MB. */
export async function memoryOf(browser, page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  await devtools.detach();
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = await Promise.all(
    processInfo
      .filter(({ type }) => type === 'renderer')
      .map(async ({ id }) => {
        const text = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
        return Number(/RssAnon:\s+(\d+)/.exec(text)?.[1] ?? Number.NaN) / 1024;
      }),
  );
  return Math.max(...sizes);
}

/** In the page: requests that began before the first row, and their bytes over the network, headers included. */
export function requestsBeforeFirstRow() {
  const entries = [
    ...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource'),
  ].filter(({ startTime }) => startTime <= globalThis.firstRowAtMs);
  const bytes = entries.reduce((sum, { transferSize }) => sum + transferSize, 0);
  return { count: entries.length, kB: bytes / 1000, names: entries.map(({ name }) => name) };
}

/** Turns the wheel in small steps, down and up again. */
export async function wheel(page, count, pixels) {
  for (let at = 0; at < count; at++) {
    await page.mouse.wheel(0, at < count / 2 ? pixels : -pixels);
    await page.waitForTimeout(16);
  }
}
