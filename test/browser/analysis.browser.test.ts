/** The analysis in a real browser: over a run in IndexedDB, while it goes on and afterwards. */
import { afterEach, expect, test } from 'vitest';
import { MetricsLogger, openRun, openStorage, startRun, type Store } from 'quark-sdk';
import { AnalyzerEngine, ComparisonEngine, PhaseAnalyzer, report } from 'quark-sdk/analysis';
import { DataDiagnostics } from 'quark-sdk/probes';

let store: Store | undefined;
afterEach(() => store?.close());

test('a run in IndexedDB is watched, judged, compared and reported on', async () => {
  store = await openStorage(`idb:analysis-test-${Date.now()}`);
  const ids: string[] = [];
  for (const breaks of [false, true]) {
    const session = await startRun({ project: 'pages', storage: store, config: { breaks } });
    const metrics = new MetricsLogger(session);
    const diagnostics = new DataDiagnostics(session);
    const heard: string[] = [];
    const watch = new AnalyzerEngine(session).watch({
      onAlert: ({ ruleId }) => heard.push(ruleId),
      actions: [{ kind: 'stop', rules: ['non_finite'] }],
    });
    for (let step = 0; step < 400 && !session.signal.aborted; step++) {
      const loss = breaks && step >= 200 ? Number.NaN : 2 * Math.exp(-step / 40) + 0.1;
      metrics.log('train/loss', loss, { step });
      diagnostics.logBatch(loss, { step, sampleIds: [`image-${step}`] });
      if (step % 50 === 49) await session.flush();
    }
    expect(heard).toEqual(breaks ? ['non_finite'] : []);
    expect(session.signal.aborted).toBe(breaks);
    await session.endRun(breaks ? 'failed' : 'completed');
    // The sources have no file of the worker: it is started from its text.
    expect(watch.status).toMatchObject({ lastError: null, workerMode: 'inline-source' });
    ids.push(session.runId);
  }
  const [calm = '', broken = ''] = ids;
  const reader = await openRun(store, broken);
  const { alerts } = await new AnalyzerEngine(reader).analyze();
  expect(alerts[0]).toMatchObject({ ruleId: 'non_finite', severity: 'critical', stepStart: 200 });
  expect(JSON.stringify(alerts[0]?.evidence)).toContain('"sample_ids":["image-200"]');
  const { phases } = await new PhaseAnalyzer(reader).analyze();
  expect(phases.at(-1)).toMatchObject({ phaseName: 'divergence', stepStart: 200 });
  const compared = await new ComparisonEngine(await openRun(store, calm)).compare(reader);
  expect(compared.configDiffs).toMatchObject([{ path: 'breaks' }]);
  const { html, markdown } = await report(reader);
  expect(markdown).toContain('| Divergence | 200 |');
  // The page stands by itself: parsed, drawn, and nothing in it asks for anything.
  const page = new DOMParser().parseFromString(html, 'text/html');
  expect(page.querySelectorAll('svg path.curve').length).toBeGreaterThan(0);
  expect(page.querySelectorAll('script, link, img, iframe')).toHaveLength(0);
});
