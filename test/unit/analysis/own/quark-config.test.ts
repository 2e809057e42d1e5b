import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun } from 'quark-sdk';
import {
  analyzeColumns,
  analyzerConfigOf,
  AnalyzerEngine,
  checkQuarkConfig,
  configForRun,
  createRunColumns,
  loadRunColumns,
  parseQuarkConfig,
  quarkConfigSchema,
} from 'quark-sdk/analysis';
import { loadQuarkConfig } from 'quark-sdk/node';
import { metric } from '../../../support/analysis-runs.ts';

const RULE = { metric: 'val/loss', above: 2, for: '5 epochs' };

test('the package has the schema that the checks are made of', async () => {
  await expect(`${JSON.stringify(quarkConfigSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../quark.config.schema.json',
  );
});

const isValid = new Ajv2020({ allowUnionTypes: true, strictRequired: false }).compile(
  quarkConfigSchema(),
);

function isAccepted(config: unknown): boolean {
  try {
    checkQuarkConfig(config);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_input' });
    return false;
  }
}

const SPANS = fc.constantFrom(
  '5 epochs',
  '1 step',
  '10 values',
  '0 steps',
  '3 minutes',
  '5',
  '2 epoch',
  '50 values',
);
const NUMBERS = fc.constantFrom(0, 1, -1, 2.5, '3', null, '20 %', '0 %');
const FIELDS = {
  id: fc.constantFrom('mine', 'Mine', '', 3),
  metric: fc.constantFrom('val/loss', 'val/*', 'a b', '', 'x?'),
  above: NUMBERS,
  below: NUMBERS,
  for: SPANS,
  changesBy: NUMBERS,
  within: SPANS,
  direction: fc.constantFrom('up', 'down', 'left'),
  zScore: NUMBERS,
  over: SPANS,
  stallsFor: SPANS,
  tolerance: NUMBERS,
  absentFor: SPANS,
  severity: fc.constantFrom('info', 'critical', 'bad'),
  category: fc.constantFrom('runtime', 'all'),
  title: fc.constantFrom('A title', '', ' '),
  advice: fc.constantFrom('Do it.', 7),
  more: fc.constant(1),
};
const CONDITIONS = ['above', 'below', 'changesBy', 'zScore', 'stallsFor', 'absentFor'] as const;
const MORE = {
  above: ['for'],
  below: ['for'],
  changesBy: ['within', 'direction'],
  zScore: ['over', 'direction'],
  stallsFor: ['tolerance', 'direction'],
  absentFor: [],
} as const;

/** Rules that are often right: a condition with what goes with it, and now and then something else. */
const RULES = fc
  .tuple(
    fc.constantFrom(...CONDITIONS),
    fc.subarray(['id', 'severity', 'category', 'title', 'advice', 'more', 'below'] as const, {
      maxLength: 2,
    }),
  )
  .chain(([condition, others]) => {
    const { metric: key, [condition]: value } = FIELDS;
    const optional = Object.fromEntries(
      [...MORE[condition], ...others].map((name) => [name, FIELDS[name]]),
    );
    return fc.record(
      { metric: key, [condition]: value, ...optional },
      { requiredKeys: ['metric', condition] },
    );
  });

test('the check and the schema accept and refuse the same rules', () => {
  let accepted = 0;
  fc.assert(
    fc.property(RULES, (rule) => {
      const config = { rules: [rule] };
      const isRight = isAccepted(config);
      if (isRight) accepted++;
      expect(isValid(config), JSON.stringify(rule)).toBe(isRight);
    }),
    { seed: 19, numRuns: 3000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test.each<[unknown, RegExp]>([
  [[], /quark\.config\.json must be an object/],
  [
    { rulez: [] },
    /quark\.config\.json\.rulez must be one of the known options \(did you mean "rules"\?\): \$schema, rules/,
  ],
  [{ rules: {} }, /quark\.config\.json\.rules must be a list of rules/],
  [
    { rules: [{ metric: 'm', above: 'x' }] },
    /quark\.config\.json\.rules\[0\]\.above must be a finite number; got "x"/,
  ],
  [
    { rules: [{ id: 'a', evaluate: 'x' }] },
    /rules\[0\]\.evaluate must be left out: rules with functions/,
  ],
  [{ rules: [RULE, RULE] }, /rules\[1\]\.id must be an id that no other rule has/],
  [{ thresholds: { plateauMinSahre: 1 } }, /quark\.config\.json\.thresholds\.plateauMinSahre/],
  [
    { thresholds: { lossSpikeScore: -1 } },
    /thresholds\.lossSpikeScore must be a number of at least 0/,
  ],
  [{ disabledRules: ['platau'] }, /quark\.config\.json\.disabledRules must be one of/],
  [{ roles: { loss: 'x' } }, /quark\.config\.json\.roles\.loss/],
  [
    { roles: { trainLoss: 7 } },
    /quark\.config\.json\.roles\.trainLoss must be the key of a metric/,
  ],
])('%j is refused with a sentence', (config, sentence) => {
  expect(() => checkQuarkConfig(config)).toThrow(sentence);
});

test('text that is no JSON is refused with the reason', () => {
  expect(() => parseQuarkConfig('{ "rules": [ }', 'my.json')).toThrow(/my\.json must be JSON \(/);
  expect(parseQuarkConfig(JSON.stringify({ rules: [RULE] }))).toEqual({ rules: [RULE] });
});

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-config-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a configuration is found from a folder upwards, the module before the data', async () => {
  const deep = join(folder, 'a', 'b');
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(folder, 'quark.config.json'), JSON.stringify({ rules: [RULE] }));
  const data = await loadQuarkConfig({ cwd: deep });
  expect(data).toEqual({ path: join(folder, 'quark.config.json'), config: { rules: [RULE] } });
  const code = `export default { rules: [{ id: 'mine', evaluate: () => [{ severity: 'info', title: 'Hi', fact: 'Hello.' }] }] };`;
  writeFileSync(join(folder, 'a', 'quark.config.mjs'), code);
  const loaded = await loadQuarkConfig({ cwd: deep });
  expect(loaded?.path).toBe(join(folder, 'a', 'quark.config.mjs'));
  const { alerts } = analyzeColumns(createRunColumns({}), loaded?.config);
  expect(alerts.map(({ fact }) => fact)).toContain('Hello.');
  const named = await loadQuarkConfig({ cwd: deep, file: '../../quark.config.json' });
  expect(named?.config).toEqual({ rules: [RULE] });
  writeFileSync(join(deep, 'quark.config.json'), '{ "rules": [{ "metric": "m" }] }');
  await expect(loadQuarkConfig({ cwd: deep })).rejects.toThrow(
    /quark\.config\.json\.rules\[0\] must be a rule with exactly one of above/,
  );
  await expect(loadQuarkConfig({ file: join(folder, 'none.json') })).rejects.toThrow(
    /none\.json cannot be read: ENOENT/,
  );
  writeFileSync(join(folder, 'empty.mjs'), 'export const rules = [];');
  await expect(loadQuarkConfig({ file: join(folder, 'empty.mjs') })).rejects.toThrow(
    /a module whose default export is a configuration/,
  );
});

test('without one in the project the file in the home folder counts, whole', async () => {
  const [home, project] = [join(folder, 'home'), mkdtempSync(join(tmpdir(), 'quark-project-'))];
  mkdirSync(home);
  writeFileSync(join(home, 'quark.config.json'), JSON.stringify({ disabledRules: ['plateau'] }));
  const found = await loadQuarkConfig({ cwd: project, home });
  expect(found?.path).toBe(join(home, 'quark.config.json'));
  expect(await loadQuarkConfig({ cwd: project, home: null })).toBeUndefined();
  writeFileSync(join(project, 'quark.config.json'), JSON.stringify({ rules: [RULE] }));
  const nearer = await loadQuarkConfig({ cwd: project, home });
  expect(nearer?.config).toEqual({ rules: [RULE] });
  rmSync(project, { recursive: true });
});

test.runIf(process.getuid?.() === 0)('a module of somebody else is run only by name', async () => {
  const project = mkdtempSync(join(tmpdir(), 'quark-shared-'));
  const path = join(project, 'quark.config.mjs');
  writeFileSync(path, 'export default { disabledRules: ["plateau"] };');
  chownSync(path, 4321, 4321);
  await expect(loadQuarkConfig({ cwd: project })).rejects.toThrow(
    /must be a file of your own or of root, .* got "a file of user 4321"/,
  );
  expect((await loadQuarkConfig({ cwd: project, file: path }))?.path).toBe(path);
  rmSync(project, { recursive: true });
});

test('roles of a project are those that a run has', () => {
  const roles = { trainLoss: 'nll', valLoss: 'holdout/nll', reward: null };
  const config = analyzerConfigOf(checkQuarkConfig({ roles }));
  expect(configForRun(config, ['nll', 'lr']).roles).toEqual({ trainLoss: 'nll', reward: null });
  const columns = createRunColumns({ metrics: [metric('nll', 40, (i) => 1 / (i + 1))] });
  const { healthScores } = analyzeColumns(columns, configForRun(config, columns.metrics.keys()));
  expect(healthScores[0]?.score).not.toBeNull();
});

test('the file of the repository is the schema that is published', () => {
  const { exports, files } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(exports['./quark.config.schema.json']).toBe('./quark.config.schema.json');
  expect(files).toContain('quark.config.schema.json');
});

const HIGH = { id: 'high', metric: 'val/*', above: 1 };

async function stored() {
  const storage = createMemoryStore();
  const session = await startRun({ project: 'own', storage });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 20; step++) metrics.log('val/loss', step, { step });
  await session.flush();
  return { session, storage };
}

const ofRun = async (run: Awaited<ReturnType<typeof stored>>, config = {}) => {
  const reader = await openRun(run.storage, run.session.runId);
  const { alerts } = await new AnalyzerEngine(reader, config).analyze({ persist: false });
  return alerts.map(({ ruleId }) => ruleId);
};

test('rules that a stored analysis was made with go with the run, until others take over', async () => {
  const run = await stored();
  expect(await ofRun(run, { rules: [HIGH] })).toContain('high');
  expect(await ofRun(run)).not.toContain('high');
  await new AnalyzerEngine(run.session, { rules: [HIGH] }).analyze();
  await new AnalyzerEngine(run.session, { rules: [HIGH] }).analyze();
  expect(await ofRun(run)).toContain('high');
  expect(await ofRun(run, { rules: [{ ...HIGH, id: 'higher' }] })).toEqual(
    expect.arrayContaining(['high', 'higher']),
  );
  const reader = await openRun(run.storage, run.session.runId);
  expect(await reader.readEvents({ eventType: 'analysis_rules' })).toHaveLength(1);
  await new AnalyzerEngine(run.session, { rules: [{ ...HIGH, id: 'higher' }] }).analyze();
  const after = await ofRun(run);
  expect(after).toContain('higher');
  expect(after).not.toContain('high');
});

test('what came with a run runs no code and is refused by name', async () => {
  const columns = createRunColumns({ metrics: [metric('m', 5, (i) => i)] });
  const rules = [
    { metric: 'm', above: '1' },
    { id: 'code', evaluate: 'alert(1)' },
    { metric: 'm', above: 1, id: 'fine' },
  ];
  const events = {
    rowCount: 1,
    eventTypes: ['analysis_rules'],
    severities: ['info'],
    steps: Float64Array.of(Number.NaN),
    timesMs: Float64Array.of(0),
    payloads: [JSON.stringify({ rules })],
  };
  const { alerts, problems } = analyzeColumns({ ...columns, events });
  expect(alerts.map(({ ruleId }) => ruleId)).toContain('fine');
  expect(problems.map(({ reason }) => reason)).toEqual(['refused', 'refused']);
  expect(problems[0]?.message).toMatch(/rule 1 of the run\[0\]\.above must be a finite number/);
});

test('a watch stores the rules with the run that it watches', async () => {
  const { session, storage } = await stored();
  const watch = new AnalyzerEngine(session, { rules: [HIGH] }).watch();
  await session.flush();
  await watch.close();
  const { events } = await loadRunColumns(await openRun(storage, session.runId));
  expect(events.eventTypes).toContain('analysis_rules');
});
