import { describe, expect, test } from 'vitest';
import {
  compareProfiles,
  profileFindings,
  profileJson,
  profileTrace,
  profileYaml,
  ProfileStep,
  type ProfileFinding,
} from 'quark-sdk/profiler';
import { parseYaml } from '../../../src/codecs/yaml/yaml.ts';
import { importText } from '../../support/imported.ts';
import { MadeProfile } from '../../support/made-profile.ts';

const MIB = 1 << 20;
const ofKind = <K extends ProfileFinding['kind']>(
  findings: readonly ProfileFinding[],
  kind: K,
): Extract<ProfileFinding, { kind: K }>[] =>
  findings.filter((one): one is Extract<ProfileFinding, { kind: K }> => one.kind === kind);

/** The sample of the documentation of AMD Quark. */
function sample(): MadeProfile {
  const made = new MadeProfile();
  const values = (rss: number, read: number, write: number) => ({
    rss_bytes: rss * MIB,
    disk_read_bytes: read * MIB,
    disk_write_bytes: write * MIB,
  });
  made.at(0, 'Start', values(150.5, 0, 0));
  made.begin(333, ProfileStep.MODEL_LOADING, values(155.2, 12.5, 1.2));
  made.end(5666, values(2048, 1024, 3.4));
  made.begin(5889, ProfileStep.MODEL_QUANTIZATION, values(2048.5, 1030.1, 5));
  made.end(45_555, values(1536, 1245.7, 512.3));
  made.at(45_778, 'End', values(1530, 1246, 513.1));
  [0, 0, 1024.5, 1025, 768, 765].forEach((mib, i) =>
    made.gpu([10, 340, 5700, 5900, 45_600, 45_778][i] ?? 0, mib * MIB, [i]),
  );
  return made;
}

describe('findings', () => {
  test('the peak is in the innermost scope that has it', () => {
    const made = new MadeProfile();
    made.at(0, 'Start', { rss_bytes: 100 });
    made.begin(1, 'outer', { rss_bytes: 100 });
    made.begin(2, 'calm', { rss_bytes: 110, rss_peak_bytes: 110 });
    made.end(3, { rss_bytes: 120, rss_peak_bytes: 125 });
    made.begin(4, 'wild', { rss_bytes: 120, rss_peak_bytes: 120 });
    made.end(5, { rss_bytes: 130, rss_peak_bytes: 900 });
    made.end(6, { rss_bytes: 130, rss_peak_bytes: 140 });
    const [peak] = ofKind(profileFindings(made.done()), 'peak');
    expect(peak).toMatchObject({
      measure: 'rss_bytes',
      path: ['outer', 'wild'],
      value: 900,
      rise: 800,
    });
  });

  test('what was not given back is in the peaks of later scopes, which have not caused it', () => {
    const made = new MadeProfile();
    made.at(0, 'Start', { rss_bytes: 80_000 });
    made.begin(1, 'outer', { rss_bytes: 80_000 });
    made.begin(2, 'takes', { rss_bytes: 80_000, rss_peak_bytes: 80_000 });
    made.end(3, { rss_bytes: 150_000, rss_peak_bytes: 150_000 });
    made.end(4, { rss_bytes: 150_100, rss_peak_bytes: 150_100 });
    made.begin(5, 'idle', { rss_bytes: 150_200, rss_peak_bytes: 150_200 });
    made.end(6, { rss_bytes: 150_300, rss_peak_bytes: 150_300 });
    const [peak] = ofKind(profileFindings(made.done()), 'peak');
    expect(peak).toMatchObject({ path: ['outer', 'takes'], value: 150_000 });
  });

  test('a peak of the time before a scope is not one of the scope', () => {
    const made = new MadeProfile();
    made.begin(0, 'first', { rss_bytes: 10, rss_peak_bytes: 10 });
    made.end(1, { rss_bytes: 10, rss_peak_bytes: 50 });
    made.begin(2, 'second', { rss_bytes: 10, rss_peak_bytes: 70 });
    made.end(3, { rss_bytes: 10, rss_peak_bytes: 20 });
    const { scopes, summary } = made.done();
    expect(scopes.map(({ name, peaks }) => [name, peaks['rss_bytes']])).toEqual([
      ['first', 50],
      ['second', 20],
    ]);
    expect(summary['rss_peak_bytes']).toBe(70);
  });

  test('a reading of a GPU belongs to the scope of its own time', () => {
    const made = new MadeProfile();
    made.begin(0, 'load');
    made.end(10);
    made.begin(20, 'train');
    made.gpu(30, 500, [1]);
    made.end(40);
    const { checkpoints, scopes } = made.done();
    expect(checkpoints[1]?.values).toEqual({ gpu_bytes: 500 });
    expect(scopes.map(({ name, peaks }) => [name, peaks['gpu_bytes']])).toEqual([
      ['load', 500],
      ['train', 500],
    ]);
  });

  /** Epochs in each of which evaluation leaves something behind, or not. */
  function epochs(left: (epoch: number) => number, measure: string, base: number): MadeProfile {
    const made = new MadeProfile();
    let level = base;
    made.at(0, 'Start', { [measure]: level });
    for (let epoch = 0; epoch < 8; epoch++) {
      const at = 100 * epoch;
      made.begin(at, ProfileStep.EPOCH, { [measure]: level });
      made.begin(at + 10, 'Shuffle', { [measure]: level });
      made.end(at + 20, { [measure]: level + 5 });
      made.begin(at + 30, ProfileStep.MODEL_EVALUATION, { [measure]: level + 5 });
      level += left(epoch);
      made.end(at + 60, { [measure]: level + 5 });
      made.end(at + 90, { [measure]: level });
    }
    return made.at(900, 'End', { [measure]: level });
  }

  test('tensors that are left behind each epoch are a leak of the scope that does not give them back', () => {
    const findings = ofKind(profileFindings(epochs(() => 3, 'tensor_count', 100).done()), 'growth');
    expect(findings).toEqual([
      {
        kind: 'growth',
        measure: 'tensor_count',
        scopeName: 'Epoch',
        times: 8,
        perTime: 3,
        total: 21,
        culprit: 'Model Evaluation',
      },
    ]);
  });

  test('memory that grows by megabytes each epoch is one, with some noise', () => {
    const leaking = epochs((i) => (i === 4 ? -MIB : 8 * MIB), 'rss_bytes', 200 * MIB).done();
    expect(ofKind(profileFindings(leaking), 'growth')).toMatchObject([
      { measure: 'rss_bytes', scopeName: 'Epoch', perTime: 8 * MIB, culprit: 'Model Evaluation' },
    ]);
  });

  test.each<[string, (epoch: number) => number]>([
    ['warms up once', (epoch) => (epoch === 0 ? 500 * MIB : 0)],
    ['goes up and down', (epoch) => (epoch % 2 === 0 ? 20 * MIB : -20 * MIB)],
    ['grows by little', () => 1000],
    ['falls', () => -MIB],
  ])('memory that %s is none', (_, left) => {
    const findings = profileFindings(epochs(left, 'rss_bytes', 900 * MIB).done());
    expect(ofKind(findings, 'growth')).toEqual([]);
  });

  test('three epochs are too few to tell', () => {
    const made = new MadeProfile();
    for (let i = 0; i < 3; i++) {
      made.begin(10 * i, 'Epoch', { tensor_count: i });
      made.end(10 * i + 5, { tensor_count: i + 1 });
    }
    expect(ofKind(profileFindings(made.done()), 'growth')).toEqual([]);
  });

  test('the share of time that is not training', () => {
    const made = new MadeProfile();
    made.at(0, 'Start');
    made.begin(0, ProfileStep.MODEL_LOADING);
    made.end(200);
    made.begin(200, ProfileStep.TRAINING);
    made.begin(200, ProfileStep.EPOCH);
    made.begin(500, ProfileStep.MODEL_EVALUATION);
    made.end(600);
    made.end(600);
    made.begin(600, ProfileStep.EPOCH);
    made.begin(700, 'My augmentation');
    made.end(800);
    made.end(900);
    made.end(900);
    made.at(1000, 'End');
    const [time] = ofKind(profileFindings(made.done()), 'not_training');
    expect(time).toEqual({
      kind: 'not_training',
      share: expect.closeTo(0.4, 12),
      trainingMs: 600,
      totalMs: 1000,
      parts: [
        { name: 'Model Loading', ms: 200 },
        { name: 'Model Evaluation', ms: 100 },
      ],
    });
  });

  test('of a profile without training, and of an empty one, nothing is said about it', () => {
    expect(ofKind(profileFindings(sample().done()), 'not_training')).toEqual([]);
    expect(profileFindings(new MadeProfile().done())).toEqual([]);
  });
});

describe('the YAML of AMD Quark', () => {
  test('is the sample of its documentation, and is read back by the import', async () => {
    const made = sample().done({
      metrics: [
        { name: 'queue_items', unit: 'items', kind: 'checkpoint', definition: 'Items waiting.' },
        { name: 'model_size_mb', unit: 'MiB', kind: 'summary', definition: '' },
      ],
      summary: { model_size_mb: 12.5 },
    });
    const text = profileYaml(made);
    expect(text).toContain(
      [
        '- step: "Model Loading End"',
        '  timestamp: 1709395205.666',
        '  relative_time_secs: 5.666',
        '  cpu_memory_mb: 2048.0',
        '  gpu_memory_mb: 1024.5',
        '  disk_read_mb: 1024.0',
        '  disk_write_mb: 3.4',
      ].join('\n'),
    );
    expect(text).toContain(
      [
        '# Summary Metrics',
        'total_quantization_time_seconds: 45.7780',
        'peak_memory_mb: 2048.5',
        'peak_gpu_memory_mb: 1025.0',
        'total_disk_read_mb: 1246.0',
        'total_disk_write_mb: 513.1',
        'model_size_mb: 12.5',
      ].join('\n'),
    );
    expect(text).toContain('# - queue_items: Items waiting. (items)');
    const { report, runs } = await importText({ 'quark_profile.yaml': text });
    expect(report.problems).toEqual([]);
    expect(runs[0]?.metrics['profiler/cpu_memory_mb']?.map(([, , value]) => value)).toEqual([
      150.5, 155.2, 2048, 2048.5, 1536, 1530,
    ]);
    expect(runs[0]?.metrics['summary/peak_gpu_memory_mb']?.[0]?.[2]).toBe(1025);
    expect(runs[0]?.reader.effectiveStatus).toBe('completed');
  });

  test('names that would break YAML are escaped, and a crash leaves no summary', () => {
    const made = new MadeProfile().at(0, 'a "quoted": step\n# \\', { rss_bytes: 0 });
    const text = profileYaml(made.done({ endedMs: null }));
    expect(text).not.toContain('Summary Metrics\n');
    const { problems, value } = parseYaml(text, 20);
    expect(problems).toEqual([]);
    expect(value).toEqual({
      memory_usage: [
        {
          step: 'a "quoted": step\n# \\',
          timestamp: 1_709_395_200,
          relative_time_secs: 0,
          cpu_memory_mb: 0,
        },
      ],
    });
  });
});

describe('Chrome’s trace format', () => {
  test('spans are nested in their track; what overlaps has a track of its own', () => {
    const made = new MadeProfile();
    const outer = made.begin(0, 'outer', { rss_bytes: 5 });
    const a = made.begin(1, 'a', {}, outer);
    const b = made.begin(2, 'b', {}, outer);
    made.end(3, {}, a);
    made.end(4, {}, b);
    made.at(5, 'moment', { heap_bytes: 7 });
    made.gpu(5.5, 9);
    made.end(6, { rss_bytes: 8 }, outer);
    made.begin(7, 'open');
    const trace = profileTrace(made.done({ endedMs: 10 }));
    const spans = trace.traceEvents.filter(({ ph }) => ph === 'X');
    expect(spans.map(({ dur, name, tid, ts }) => [name, ts, dur, tid])).toEqual([
      ['outer', 0, 6000, 1],
      ['a', 1000, 2000, 1],
      ['b', 2000, 2000, 2],
      ['open', 7000, 3000, 1],
    ]);
    for (const track of [1, 2]) {
      const open: number[] = [];
      for (const { dur = 0, ts } of spans.filter(({ tid }) => tid === track)) {
        while (open.length > 0 && (open.at(-1) ?? 0) <= ts) open.pop();
        expect(ts + dur).toBeLessThanOrEqual(open.at(-1) ?? Infinity);
        open.push(ts + dur);
      }
    }
    const counters = trace.traceEvents.filter(({ ph }) => ph === 'C');
    expect(counters.map(({ args, name, ts }) => [name, ts, args?.['value']])).toEqual([
      ['rss_bytes', 0, 5],
      ['heap_bytes', 5000, 7],
      ['gpu_bytes', 5500, 9],
      ['rss_bytes', 6000, 8],
    ]);
    expect(trace.traceEvents.find(({ ph }) => ph === 'i')?.name).toBe('moment');
    expect(JSON.parse(JSON.stringify(trace))).toEqual(trace);
  });
});

test('JSON has all of a profile, under stored names', () => {
  const json = profileJson(sample().done());
  expect(json).toMatchObject({
    started_at: '2024-03-02T16:00:00.000Z',
    ended_ms: 45_778,
    dropped_checkpoints: 0,
    summary: { total_seconds: 45.778, gpu_peak_bytes: 1025 * MIB },
  });
  expect(JSON.parse(JSON.stringify(json))).toEqual(json);
});

test('two profiles are compared by the names of their steps', () => {
  const [a, b] = [new MadeProfile(), new MadeProfile()];
  for (const at of [0, 10]) {
    a.begin(at, 'Epoch', { rss_bytes: 100 });
    a.end(at + 5, { rss_bytes: 200 + at });
  }
  b.begin(0, 'Epoch', { rss_bytes: 100 });
  b.end(3, { rss_bytes: 150 });
  b.begin(4, 'Export');
  const { steps, summary } = compareProfiles(a.done(), b.done({ endedMs: null }));
  expect(steps).toEqual([
    {
      name: 'Epoch',
      a: { count: 2, totalMs: 10, rssPeakBytes: 210, gpuPeakBytes: null },
      b: { count: 1, totalMs: 3, rssPeakBytes: 150, gpuPeakBytes: null },
    },
    {
      name: 'Export',
      a: null,
      b: { count: 1, totalMs: 0, rssPeakBytes: null, gpuPeakBytes: null },
    },
  ]);
  expect(summary).toContainEqual({ name: 'total_seconds', a: 0.015, b: 0.004 });
});
