import { expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun } from 'quark-sdk';
import { AnalyzerEngine, report, silenceOf, type AnalyzerResult } from 'quark-sdk/analysis';
import { TestClock } from '../../../support/clock.ts';

const START = Date.UTC(2026, 0, 2);

async function started() {
  const clock = new TestClock(START);
  const storage = createMemoryStore({ clock });
  const session = await startRun({ project: 'own', storage, clock });
  return { clock, session, storage, engine: new AnalyzerEngine(session) };
}

const overall = ({ healthScores }: AnalyzerResult): number =>
  healthScores.find(({ scoreKey }) => scoreKey === 'overall')?.score ?? Number.NaN;

const BLACK = { title: 'Samples look wrong', text: 'Half of the images are black.' };

test('an alert of the program is a record, reaches a watch and its actions, and lowers the score', async () => {
  const { engine, session } = await started();
  const before = overall(await engine.analyze());
  const told: string[] = [];
  const watch = engine.watch({
    actions: [
      { kind: 'callback', rules: ['user_alert'], callback: ({ title }) => void told.push(title) },
    ],
  });
  const alert = await session.alert({ ...BLACK, severity: 'error', step: 7 });
  expect(alert).toMatchObject({
    ruleId: 'user_alert',
    severity: 'error',
    stepStart: 7,
    fact: BLACK.text,
  });
  await session.flush();
  expect(watch.alerts.map(({ id }) => id)).toEqual([alert.id]);
  expect(told).toEqual([BLACK.title]);
  // Without a loss, nothing else was judged: the score is that of the alert.
  expect(before).toBeNaN();
  expect(overall(await engine.analyze())).toBeLessThan(85);
  await session.endRun('completed');
});

test('analyses leave it as it is: once, under its id, also when it is raised while one is stored', async () => {
  const { engine, session, storage } = await started();
  const first = await session.alert(BLACK);
  await engine.analyze();
  const replace = storage.replaceTable.bind(storage);
  let second: Promise<unknown> = Promise.resolve();
  storage.replaceTable = async (...args) => {
    storage.replaceTable = replace;
    // Its event is stored, its record is in the table that is about to be replaced.
    second = session.alert({ ...BLACK, title: 'Again' });
    await second;
    return replace(...args);
  };
  await engine.analyze();
  await second;
  const ids = (await engine.readAlerts({ ruleId: 'user_alert' })).map(({ title }) => title);
  expect(ids).toEqual([BLACK.title, 'Again']);
  const { alerts } = await engine.analyze();
  expect(alerts.map(({ title }) => title)).toEqual([BLACK.title, 'Again']);
  expect(alerts[0]?.id).toBe(first.id);
  expect(await engine.readAlerts()).toHaveLength(2);
});

test.each<[object, RegExp]>([
  [{ ...BLACK, title: '' }, /title must be non-blank text/],
  [{ ...BLACK, text: '' }, /text must be non-empty text/],
  [{ ...BLACK, severity: 'bad' }, /severity must be one of/],
  [{ ...BLACK, sevrity: 'info' }, /sevrity/],
  [{ ...BLACK, step: -1 }, /step must be a non-negative integer/],
])('%j is refused before anything is written', async (options, sentence) => {
  const { engine, session } = await started();
  await expect(session.alert(options as typeof BLACK)).rejects.toThrow(sentence);
  expect(await engine.readAlerts()).toEqual([]);
  await session.endRun('completed');
  await expect(session.alert(BLACK)).rejects.toMatchObject({ code: 'invalid_run_state' });
});

async function broken() {
  const run = await started();
  const metrics = new MetricsLogger(run.session);
  for (let step = 0; step < 50; step++) {
    metrics.log('train/loss', step < 40 ? 1 / (step + 1) : Number.NaN, { step });
    metrics.log('val/f1', 3, { step });
  }
  await run.session.flush();
  return run;
}

test('a silenced alert lowers no score, is listed and named, survives analyses, and comes back', async () => {
  const { engine, session, storage } = await broken();
  const before = overall(await engine.analyze());
  const said = await engine.silence({ ruleId: 'non_finite', reason: 'Known bug.', by: 'Ada' });
  expect(said).toEqual({
    ruleId: 'non_finite',
    moduleName: null,
    metricKey: null,
    kind: 'silence',
    reason: 'Known bug.',
    by: 'Ada',
    until: null,
    atMs: START,
  });
  await session.endRun('completed');
  const reader = await openRun(storage, session.runId);
  const again = new AnalyzerEngine(reader);
  const result = await again.analyze();
  expect(overall(result)).toBeGreaterThan(before);
  expect(result.alerts.map(({ ruleId }) => ruleId)).toContain('non_finite');
  expect(result.silenced.map(({ alert }) => alert.ruleId)).toEqual(['non_finite']);
  expect(result.toDict()['silenced']).toMatchObject([{ rule_id: 'non_finite', by: 'Ada' }]);
  const { markdown, html } = await report(reader);
  expect(markdown).toContain('Silenced by Ada: Known bug.');
  expect(html).toContain('Silenced by Ada: Known bug.');
  await again.unsilence({ ruleId: 'non_finite' });
  expect(await again.readSilences()).toEqual([]);
  expect(overall(await again.analyze())).toBe(before);
});

test('of a rule with several alerts those about one metric are silenced, until an instant', async () => {
  const { clock, engine } = await broken();
  const rules = [{ metric: '*', above: 0.01, id: 'high' }];
  const own = new AnalyzerEngine((await broken()).session, { rules });
  const { alerts } = await own.analyze();
  const high = alerts.filter(({ ruleId }) => ruleId === 'high');
  expect(high.map(({ title }) => title)).toEqual(['train/loss: above 0.01', 'val/f1: above 0.01']);
  const until = START + 60_000;
  const options = { ruleId: 'high', metricKey: 'val/f1', reason: 'It is a count.', until };
  await own.silence(options);
  const { silenced } = await own.analyze();
  expect(silenced.map(({ alert }) => alert.title)).toEqual(['val/f1: above 0.01']);
  const silences = await own.readSilences();
  const [, second] = high;
  expect(second && silenceOf(second, silences, until - 1)?.reason).toBe('It is a count.');
  expect(second && silenceOf(second, silences, until)).toBeUndefined();
  expect(clock.now()).toBe(START);
  await expect(engine.silence({ ...options, reason: '' })).rejects.toThrow(/options\.reason/);
  await expect(engine.silence({ ...options, until: 'soon' })).rejects.toThrow(/options\.until/);
});

test('what is acknowledged counts as before and says by whom', async () => {
  const { engine } = await broken();
  const before = overall(await engine.analyze());
  await engine.silence({ ruleId: 'non_finite', reason: 'On it.', by: 'Bo', kind: 'acknowledge' });
  const result = await engine.analyze();
  expect(overall(result)).toBe(before);
  expect(result.silenced[0]?.silence).toMatchObject({ kind: 'acknowledge', by: 'Bo' });
});

test('a watch stores a silenced alert and starts no action', async () => {
  const { engine, session } = await started();
  await engine.silence({ ruleId: 'non_finite', reason: 'Known bug.' });
  const told: string[] = [];
  const watch = engine.watch({
    onAlert: ({ ruleId }) => void told.push(ruleId),
    actions: [{ kind: 'stop' }],
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step++) metrics.log('train/loss', Number.NaN, { step });
  await session.flush();
  expect(watch.alerts.map(({ ruleId }) => ruleId)).toContain('non_finite');
  expect(told).not.toContain('non_finite');
  expect(session.signal.aborted).toBe(false);
  await session.endRun('completed');
});
