// Reads steps and values of one metric: how long it takes, and what memory it needs beyond its result.
const [index, directory, runId, metricKey] = process.argv.slice(2);
const { openRun, openStorage } = await import(index);
const store = await openStorage(directory);
const run = await openRun(store, runId);
globalThis.gc();
const before = process.memoryUsage().rss;
const start = performance.now();
const { series } = await run.readSeries({ metricKeys: [metricKey] });
const ms = performance.now() - start;
const [{ values, steps }] = series;
const result = values.byteLength + (steps?.byteLength ?? 0);
const peak = process.resourceUsage().maxRSS * 1024;
console.log(
  JSON.stringify({
    'one metric: points': values.length,
    'one metric (ms)': ms,
    'one metric: memory beyond the result (MB)': (peak - before - result) / 1e6,
  }),
);
await store.close();
