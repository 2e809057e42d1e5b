/** Rules of one's own on the command line: --config, and alerts that are silenced. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MetricsLogger, startRun } from 'quark-sdk';
import { quark, type Ran } from './fake-io.ts';

let folder = '';
let id = '';
const run = (...args: string[]): Promise<Ran> => quark(args, { cwd: folder });
const CONFIG = {
  rules: [
    { metric: 'data/queue', above: 2, for: '5 epochs', severity: 'critical', advice: 'Stop it.' },
    { metric: 'val/f1', below: 0.5 },
  ],
};
const RULE = 'data/queue.above';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-own-rules-'));
  const session = await startRun({ project: 'own', storageDir: folder });
  id = session.runId;
  const metrics = new MetricsLogger(session);
  for (let epoch = 0; epoch < 12; epoch++) {
    metrics.log('train/loss', 1 / (epoch + 1), { step: epoch, epoch });
    metrics.log('data/queue', epoch < 4 ? 1 : 3, { step: epoch, epoch });
  }
  await session.endRun('completed');
  await session.close();
  writeFileSync(join(folder, 'limits.json'), JSON.stringify(CONFIG));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('analyze and report judge by the file that --config names, and say what could not be judged', async () => {
  expect((await run('analyze', id)).stdout).not.toContain(RULE);
  const analyzed = await run('analyze', id, '--config', 'limits.json', '--fail-on', 'critical');
  expect(analyzed.code).toBe(1);
  expect(analyzed.stdout).toContain(`critical data/queue: above 2 for 5 epochs (${RULE})`);
  expect(analyzed.stdout).toContain(
    'data/queue is above 2 from step 4 to 11 (highest 3).\n  Stop it.',
  );
  expect(analyzed.stdout).toContain(
    'not judged: val/f1.below could not be judged: the run has no metric val/f1;',
  );
  const report = await run('report', id, '--config', 'limits.json');
  expect(report.stdout).toContain('### data/queue: above 2 for 5 epochs');
});

test('a configuration is found, named, and left out when asked', async () => {
  writeFileSync(join(folder, 'quark.config.json'), JSON.stringify(CONFIG));
  const found = await run('analyze', id);
  expect(found.stdout).toContain(RULE);
  expect(found.stderr).toContain(join(folder, 'quark.config.json'));
  expect((await run('analyze', id, '--no-config')).stdout).not.toContain(RULE);
  rmSync(join(folder, 'quark.config.json'));
});

test('phases and comparisons are by the same file', async () => {
  const other = await startRun({ project: 'own', storageDir: folder });
  const metrics = new MetricsLogger(other);
  for (let epoch = 0; epoch < 12; epoch++) metrics.log('train/loss', 1, { step: epoch, epoch });
  await other.endRun('completed');
  await other.close();
  const compared = await run('compare', id, other.runId, '--config', 'limits.json', '--json');
  const { alert_diff: diff } = JSON.parse(compared.stdout);
  expect(diff.new_rule_ids).toContain(RULE);
  const without = await run('compare', id, other.runId, '--json');
  expect(without.stdout).not.toContain(RULE);
  // A loss that does not fall is no phase of a name by itself: the file says that queue is the loss.
  writeFileSync(join(folder, 'roles.json'), JSON.stringify({ roles: { trainLoss: 'data/queue' } }));
  const phases = JSON.parse((await run('phases', id, '--json')).stdout);
  const asked = JSON.parse((await run('phases', id, '--config', 'roles.json', '--json')).stdout);
  expect(asked.phases).not.toEqual(phases.phases);
  expect((await run('phases', id, '--config', 'none.json')).code).toBe(1);
});

test('an analysis says which thresholds it used', async () => {
  const config = { thresholds: { lossSpikeScore: 12 }, disabledRules: ['plateau'] };
  writeFileSync(join(folder, 'strict.json'), JSON.stringify(config));
  const { stdout } = await run('analyze', id, '--config', 'strict.json');
  expect(stdout).toContain('Settings: lossSpikeScore 12 instead of 8, without the rule plateau.');
});

test('a wrong configuration is refused with file, field, value and rule', async () => {
  writeFileSync(
    join(folder, 'wrong.json'),
    JSON.stringify({ rules: [{ metric: 'a', above: '2' }] }),
  );
  const { code, stderr } = await run('analyze', id, '--config', 'wrong.json');
  expect(code).toBe(1);
  expect(stderr).toContain('wrong.json.rules[0].above must be a finite number; got "2".');
  expect((await run('analyze', id, '--config', 'none.json')).stderr).toMatch(
    /none\.json cannot be read/,
  );
  expect((await run('serve', '--config', 'wrong.json')).stderr).toContain('rules[0].above must be');
  expect((await run('dashboard', '--config', 'wrong.json')).stderr).toContain('rules[0].above');
  const both = await run('analyze', id, '--config', 'limits.json', '--no-config');
  expect(both.code).toBe(2);
});

test('an alert is silenced with a reason, named everywhere, and comes back', async () => {
  await run('analyze', id, '--config', 'limits.json', '--save');
  const silenced = await run(
    'silence',
    id,
    RULE,
    '--reason',
    'The set is tiny.',
    '--by',
    'Ada',
    '--until',
    '7d',
  );
  expect(silenced.stdout).toMatch(
    /^data\/queue\.above: silenced by Ada until .*: The set is tiny\.\n$/,
  );
  const alerts = await run('alerts', id);
  expect(alerts.stdout).toMatch(/critical +data\/queue\.above +data\/queue +silence /);
  expect(alerts.stdout).toContain('silenced by Ada');
  const analyzed = await run('analyze', id, '--fail-on', 'critical');
  expect(analyzed.code).toBe(0);
  expect(analyzed.stdout).toContain(
    `silenced by Ada: data/queue: above 2 for 5 epochs (${RULE}): The set is tiny.`,
  );
  expect(analyzed.stdout).toContain('All that was found is silenced.');
  const reported = await run('report', id);
  expect(reported.stdout).toContain('All that was found is silenced: data/queue');
  expect(reported.stdout).not.toContain('Nothing was found that needs attention');
  const json = JSON.parse((await run('analyze', id, '--json')).stdout);
  expect(json.silenced).toMatchObject([{ rule_id: RULE, reason: 'The set is tiny.' }]);
  const [{ alert_id: quiet }] = json.silenced;
  expect(json.alerts.map(({ id: one }: { id: string }) => one)).toContain(quiet);
  expect(JSON.stringify(json.groups)).not.toContain(quiet);
  expect((await run('report', id)).stdout).toContain('The set is tiny.');
  const { alerts: list } = JSON.parse((await run('alerts', id, '--json')).stdout);
  expect(list.find((one: { rule_id: string }) => one.rule_id === RULE)).toMatchObject({
    metric_key: 'data/queue',
    silence: { kind: 'silence', by: 'Ada', reason: 'The set is tiny.' },
  });
  const known = await run('alerts', 'ack', id, RULE, '--note', 'We know.', '--by', 'Ada');
  expect(known.stdout).toBe(`${RULE}: acknowledged by Ada: We know.\n`);
  expect((await run('alerts', id)).stdout).toMatch(
    /critical +data\/queue\.above +data\/queue +acknowledge /,
  );
  expect((await run('alerts', 'ack', id, RULE, '--undo')).stdout).toContain('is taken back');
  expect((await run('alerts', id)).stdout).not.toContain('acknowledge');
  expect((await run('alerts', 'ack', id, RULE)).stderr).toContain('needs --note');
  expect((await run('alerts', 'ack', id)).stderr).toContain('needs RUN and RULE');
  expect((await run('alerts', id, '--note', 'x')).stderr).toContain('needs "ack"');
  const undone = await run('silence', id, RULE, '--undo');
  expect(undone.stdout).toBe(`What was said of ${RULE} is taken back.\n`);
  expect((await run('analyze', id, '--fail-on', 'critical')).code).toBe(1);
});

test('what cannot be meant is refused', async () => {
  expect((await run('silence', id, RULE)).stderr).toContain('needs --reason');
  const unknown = await run('silence', id, 'platau', '--reason', 'x');
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain(
    'No rule of Quark and no alert of this run has the name "platau".',
  );
  const both = await run('silence', id, RULE, '--undo', '--reason', 'x');
  expect(both.stderr).toContain('--reason and --undo do not go together');
  const until = await run('silence', id, RULE, '--reason', 'x', '--until', 'soon');
  expect(until.stderr).toContain('options.until must be an instant');
});

test('watch shows the alerts of a run and ends with it', async () => {
  const { code, stdout } = await run('watch', id, '--config', 'limits.json');
  expect(code).toBe(0);
  expect(stdout).toContain(`critical data/queue: above 2 for 5 epochs (${RULE})`);
  const json = await run('watch', id, '--config', 'limits.json', '--json');
  expect(JSON.parse(json.stdout.split('\n')[0] ?? '')).toMatchObject({ rule_id: RULE });
});
