import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
import {
  AnalyzerEngine,
  createMetricSeries,
  createRunColumns,
  groupAlerts,
  PhaseAnalyzer,
  report,
} from 'quark-sdk/analysis';
import { escapeHtml, escapeMarkdown } from '../../../../src/analysis/report/escape.ts';
import { linearTicks, logTicks, shortText } from '../../../../src/analysis/text/number-text.ts';
import { byEpoch, byStep, stepLoss } from '../../../support/loss-curves.ts';
import { runs } from '../../../support/property.ts';

const HOSTILE = '<script>alert("x")</script> | `a` *b* [c](javascript:d) & \u0000\ud800';

/** The elements of a page as a tree would hold them; throws where one is not closed. */
function tagsOf(html: string): readonly string[] {
  const open: string[] = [];
  const seen: string[] = [];
  const withoutText = html.replace(/<style>.*?<\/style>/su, '<style></style>');
  for (const [, close, name = '', , self] of withoutText.matchAll(
    /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*)\s*(\/?)>/gu,
  )) {
    if (close === '/') {
      if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
      continue;
    }
    seen.push(name);
    if (self !== '/' && !['meta', 'br'].includes(name)) open.push(name);
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(' ')}`);
  return seen;
}

async function recorded(): Promise<TrainingSession> {
  const session = await TrainingSession.startRun({
    project: HOSTILE.slice(0, 60).replaceAll('\u0000', '').replaceAll('\ud800', ''),
    storage: createMemoryStore(),
    config: { lr: 0.1, note: HOSTILE.slice(0, 40), nested: { list: [1, 2] } },
  });
  const metrics = new MetricsLogger(session);
  [2, 1, 0.6, 0.4, 2, 8, 30].forEach((value, i) => {
    metrics.log('train/loss', value, { step: i * 10 });
    metrics.log('val/loss', i === 3 ? Number.NaN : value + 0.1, { step: i * 10 });
    metrics.log('system/runtime/step_time_ms', 100, { step: i * 10 });
  });
  return session;
}

describe('a stored run', () => {
  test('as HTML: whole, closed, without anything to fetch or run', async () => {
    const { html, runId } = await report(await recorded());
    const tags = tagsOf(html);
    expect(tags.filter((name) => name === 'svg')).toHaveLength(1);
    expect(tags).not.toContain('script');
    expect(html).not.toMatch(/\b(?:src|href|srcset|onload|onerror)=|url\(|@import|https?:/u);
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(html).toContain('prefers-color-scheme:dark');
    expect(html).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
    expect(html).toContain(runId);
    expect(html).toContain('Divergence');
    expect(html).toContain('<circle class="nan"');
    expect(html).toContain('val/loss from 2.1 to 30.1');
  });

  test('causes come before what follows from them, as in the analysis', async () => {
    const session = await recorded();
    const { alerts } = await new AnalyzerEngine(session).analyze({ persist: false });
    const { markdown } = await report(session);
    const [short = '', more = ''] = markdown.split('## More');
    const groups = groupAlerts(alerts);
    const titles = [...short.matchAll(/^### (.*)$/gmu)].map(([, title]) => title);
    expect(titles).toEqual(groups.map(({ cause }) => escapeMarkdown(cause.title)));
    for (const { consequences } of groups)
      for (const { fact } of consequences) expect(short).toContain(`: ${escapeMarkdown(fact)} (`);
    expect(short).toContain(`Check first: ${titles[0]} (`);
    expect(short).toContain('## What to do');
    expect(more).toContain('### Health');
  });

  test('as Markdown: tables whose rows have as many cells as their heads', async () => {
    const { markdown } = await report(await recorded());
    expect(markdown).toContain('| Divergence | 40 | 60 |');
    expect(markdown).toContain('| status | running, live |');
    expect(markdown).toContain('| metrics | 3 with 21 values |');
    expect(markdown).toContain('| train/loss | 7 | 0 | 2 | 30 | 0.4 | 30 | 0.4 | step 30 |');
    expect(markdown).not.toMatch(/<script|(?<!\\)\]\(javascript/u);
    const cells = (line: string): number => line.replaceAll(/\\\|/gu, '').split('|').length;
    const blocks = markdown.split('\n\n').filter((block) => block.startsWith('|'));
    expect(blocks.length).toBeGreaterThanOrEqual(5);
    for (const block of blocks)
      expect([block, new Set(block.trim().split('\n').map(cells)).size]).toEqual([block, 1]);
  });

  test('shows what an analysis has stored', async () => {
    const session = await recorded();
    await new PhaseAnalyzer(session, { thresholds: { initializationPoints: 1 } }).analyze();
    await new AnalyzerEngine(session).analyze();
    const reader = await openRun(session.store, session.runId);
    const { markdown } = await report(reader, { title: 'Mine', nowMs: 0 });
    expect(markdown.startsWith('# Mine\n')).toBe(true);
    expect(markdown).toContain('| Initialization and adaptation | 0 | 9 |');
    expect(markdown).toContain('as stored by an earlier analysis');
    // Two analyses that append: the last is shown.
    await new PhaseAnalyzer(session).analyze({ replaceExisting: false });
    expect((await report(reader)).markdown).toContain('| Initialization and adaptation | 0 | 19 |');
    expect((await report(reader)).markdown.match(/\| Divergence \|/gu)).toHaveLength(1);
  });
});

test('what was stored before a run went on is not shown as what it is now', async () => {
  const session = await TrainingSession.startRun({ project: 'on', storage: createMemoryStore() });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 40; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await new PhaseAnalyzer(session).analyze();
  await new AnalyzerEngine(session).analyze();
  const before = await report(session);
  expect(before.markdown).toContain('as stored by an earlier analysis');
  expect(before.markdown).not.toContain('Divergence');
  const timestamp = Date.now() + 60_000;
  for (let step = 40; step < 80; step++) metrics.log('train/loss', step ** 2, { step, timestamp });
  const { markdown } = await report(session);
  expect(markdown).toMatch(/Training ended in: divergence\./u);
  expect(markdown).toContain('loss_divergence');
  expect(markdown).not.toContain('as stored by an earlier analysis');
});

describe('a run in memory', () => {
  test('nothing at all', async () => {
    const { html, markdown } = await report(createRunColumns({}));
    tagsOf(html);
    expect(markdown.split('\n')[2]).toBe('**Not assessed: no metric was recorded**');
    expect(html).not.toMatch(/<h3>Health<\/h3>.*100/u);
  });

  test('a million points and a hundred metrics make a small file', async () => {
    const metrics = [
      byStep(
        'train/loss',
        stepLoss(1_000_000, (share) => 0.5 + 2 * Math.exp(-20 * share)),
      ),
      ...Array.from({ length: 100 }, (_, i) => byEpoch(`metric/${i}`, [i, i + 1, Number.NaN])),
    ];
    const { html } = await report(createRunColumns({ metrics }));
    expect(tagsOf(html).filter((name) => name === 'svg')).toHaveLength(40);
    expect(html.length).toBeLessThan(300_000);
    expect(html).toContain('61 more metrics');
  });

  test('every extreme is in the curve, and a wide range is drawn by its logarithm', async () => {
    const values = stepLoss(100_000, () => 1, 0);
    values[54_321] = 1000;
    const { html } = await report(createRunColumns({ metrics: [byStep('train/loss', values)] }));
    expect(html).toContain('logarithmic scale');
    const path = /class="curve s0" d="([^"]+)"/u.exec(html)?.[1] ?? '';
    const heights = [...path.matchAll(/[ML]([\d.]+) ([\d.]+)/gu)].map(([, , y]) => Number(y));
    expect(Math.min(...heights)).toBe(14);
    expect(Math.max(...heights)).toBe(208);
  });

  test('options that do not exist are refused', async () => {
    await expect(report(createRunColumns({}), { titel: 'x' } as never)).rejects.toThrow(/titel/);
    await expect(report(createRunColumns({}), { title: 1 as never })).rejects.toThrow(/title/);
  });
});

describe('texts', () => {
  test('no text is markup', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.constant(HOSTILE)), (text) => {
        expect(escapeHtml(text)).not.toMatch(/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/u);
        expect(escapeMarkdown(text)).not.toMatch(/[<>\n]|(?<!\\)(?:\\\\)*[|`*_[\]]/u);
      }),
      runs(500),
    );
  });

  test('numbers', () => {
    expect([0, 1, -0.5, 1234567, 0.00001, Number.NaN, -Infinity, null].map(shortText)).toEqual([
      '0',
      '1',
      '−0.5',
      '1.23e6',
      '1.00e−5',
      'NaN',
      '−∞',
      '–',
    ]);
    expect(linearTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(linearTicks(3, 3, 5)).toEqual([3]);
    expect(logTicks(0.02, 500, 6)).toEqual([0.1, 1, 10, 100]);
  });

  test('ticks lie within their range, and there are not too many', () => {
    const bound = fc.double({ min: -1e12, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(bound, bound, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const ticks = linearTicks(low, high, 6);
        expect(ticks.length).toBeLessThanOrEqual(8);
        const room = 1e-9 * (high - low) + 1e-9 * Math.abs(high);
        for (const tick of ticks) {
          expect(tick).toBeGreaterThanOrEqual(low - room);
          expect(tick).toBeLessThanOrEqual(high + room);
        }
      }),
      runs(300),
    );
  });
});

test('a Markdown report of many metrics is short: the rest is in the HTML', async () => {
  const metrics = Array.from({ length: 60 }, (_, i) =>
    createMetricSeries(`layer${i}/norm`, { steps: [0, 1, 2], values: [i, i + 1, i] }),
  );
  const { html, markdown } = await report(createRunColumns({ metrics }));
  expect(markdown.match(/^\| layer\d+\/norm /gmu)).toHaveLength(40);
  expect(markdown).toContain('20 more metrics are in the HTML report.');
  expect(metrics.every(({ key }) => html.includes(key))).toBe(true);
});

test('losses of an agent and a reward: the reward is the picture, and has the only best value', async () => {
  const curve = (key: string, at: (i: number) => number) =>
    createMetricSeries(key, {
      steps: Array.from({ length: 40 }, (_, i) => i),
      values: Array.from({ length: 40 }, (_, i) => at(i)),
    });
  const { html, markdown } = await report(
    createRunColumns({
      metrics: [
        curve('rollout/ep_rew_mean', (i) => i),
        curve('train/entropy_loss', (i) => -0.7 + i / 100),
        curve('train/loss', (i) => 5 + (i % 7)),
      ],
    }),
  );
  const bestOf = (key: string): string | undefined =>
    markdown
      .replaceAll('\\_', '_')
      .split('\n')
      .find((line) => line.startsWith(`| ${key} |`))
      ?.split('|')
      .at(-2)
      ?.trim();
  expect(bestOf('rollout/ep_rew_mean')).toBe('step 39');
  expect(['train/entropy_loss', 'train/loss'].map(bestOf)).toEqual(['–', '–']);
  expect(html.indexOf('Reward')).toBeGreaterThan(0);
});
