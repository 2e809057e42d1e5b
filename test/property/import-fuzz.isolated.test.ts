/**
 * Mutated files of every format: an import of anything ends, and says what it made of it. `QUARK_FUZZ=100000` is the long campaign; it
 * looks at the time and memory of each case as well. `QUARK_SEED` replays one, `QUARK_FUZZ_FROM` begins at a case of it.
 */
import { beforeAll, expect, test } from 'vitest';
import { importRuns } from '../../src/exchange/import/import-runs.ts';
import { IMPORTERS } from '../../src/exchange/import/importers.ts';
import { bytesInput } from '../../src/codecs/input.ts';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { importInputs } from '../support/import-inputs.ts';
import type { Files } from '../support/mutations.ts';
import { seedOfRun } from '../support/property.ts';

const CASES = Number(process.env['QUARK_FUZZ'] ?? '600');
const SEED = seedOfRun();
/** The first case, to go on with a campaign. */
const FROM = Number(process.env['QUARK_FUZZ_FROM'] ?? '0');
const isLong = CASES > 10_000;
const MAX_CASE_MS = 2000;
const MAX_MEMORY_MB = 512;

let inputs: Awaited<ReturnType<typeof importInputs>> = [];
beforeAll(async () => {
  inputs = await importInputs();
});

/** Mulberry32: a case follows from the seed and its number alone. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const EXTREMES = [
  [0xff, 0xff, 0xff, 0xff],
  [0xff, 0xff, 0xff, 0x7f],
  [0, 0, 0, 0x80],
  [0, 0, 0, 0],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
  [0xfe, 0xff, 0xff, 0xff, 0x0f],
  [...new TextEncoder().encode('9223372036854775807')],
  [...new TextEncoder().encode('1e999')],
  [...new TextEncoder().encode('[[[[[[[[')],
  [...new TextEncoder().encode('"')],
];

function mutate(
  bytes: Uint8Array,
  other: Uint8Array,
  next: (below: number) => number,
): Uint8Array<ArrayBuffer> {
  const at = next(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + next(next(4) === 0 ? 400 : 8));
  const joined = (...parts: Uint8Array[]): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.concat(parts));
  switch (next(7)) {
    case 0: {
      const copy = new Uint8Array(bytes);
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << next(8));
      return copy;
    }
    case 1: {
      const copy = new Uint8Array(bytes);
      copy.set((EXTREMES[next(EXTREMES.length)] ?? []).slice(0, copy.length - at), at);
      return copy;
    }
    case 2:
      return joined(bytes.subarray(0, at), bytes.subarray(to));
    case 3:
      return joined(bytes.subarray(0, to), bytes.subarray(at, to), bytes.subarray(to));
    case 4:
      return joined(
        bytes.subarray(0, at),
        Uint8Array.from(EXTREMES[next(EXTREMES.length)] ?? []),
        bytes.subarray(at),
      );
    case 5: {
      // A piece of another file.
      const from = next(other.length);
      return joined(
        bytes.subarray(0, at),
        other.subarray(from, from + 1 + next(64)),
        bytes.subarray(to),
      );
    }
    default:
      return joined(bytes.subarray(0, at));
  }
}

const content = (value: string | Uint8Array | undefined): Uint8Array =>
  typeof value === 'string' ? new TextEncoder().encode(value) : (value ?? new Uint8Array(0));

function mutatedCase(number: number): {
  readonly format: string;
  readonly files: Files;
  readonly isAsked: boolean;
} {
  const next = random(SEED + Math.imul(number, 0x9e3779b1));
  const [format, files] = inputs[number % inputs.length] ?? ['', {}];
  const paths = Object.keys(files);
  const changed = paths[next(paths.length)] ?? '';
  const [, others] = inputs[next(inputs.length)] ?? ['', {}];
  let bytes = content(files[changed]);
  for (let count = 1 + next(4); count > 0; count--)
    bytes = mutate(bytes, content(Object.values(others)[0]), next);
  return { format, files: { ...files, [changed]: new Uint8Array(bytes) }, isAsked: next(2) === 0 };
}

async function run(number: number): Promise<number> {
  const { format, files, isAsked } = mutatedCase(number);
  const store = createMemoryStore();
  const before = process.cpuUsage();
  const report = await importRuns(
    Object.entries(files).map(([path, bytes]) => bytesInput(path, new Uint8Array(content(bytes)))),
    store,
    isAsked ? { format } : {},
  );
  const { user, system } = process.cpuUsage(before);
  const said = report.runs.length + report.problems.length + report.unknownFiles.length;
  if (said === 0) throw new Error('nothing was said');
  for (const { runId } of report.runs) await readMetricColumns({ store, runId });
  return (user + system) / 1000;
}

test('every format has an input that it claims', async () => {
  for (const [format, files] of inputs) {
    const report = await importRuns(
      Object.entries(files).map(([path, bytes]) =>
        bytesInput(path, new Uint8Array(content(bytes))),
      ),
      createMemoryStore(),
    );
    expect(
      report.runs.map((found) => found.format),
      Object.keys(files)[0],
    ).toContain(format);
  }
  const covered = new Set(inputs.map(([format]) => format));
  expect(IMPORTERS.map(({ format }) => format).filter((format) => !covered.has(format))).toEqual(
    [],
  );
});

test('what is claimed and turns out to hold nothing is said as well', async () => {
  for (const files of [
    { 'm/meta.yaml': "experiment_id: '1'\nname: x\n" },
    { 'p/profile.yaml': '# Quark Profiling Results\n' },
  ]) {
    const format = Object.keys(files)[0]?.startsWith('m') === true ? 'mlflow' : 'quark_profiler';
    const report = await importRuns(
      Object.entries(files).map(([path, text]) => bytesInput(path, text)),
      createMemoryStore(),
      { format },
    );
    expect(report.runs.length + report.problems.length).toBeGreaterThan(0);
  }
});

test(
  `${CASES} mutated files end, each with something said`,
  async () => {
    for (let number = 0; number < 2 * inputs.length; number++) await run(number);
    const peak = (): number => process.resourceUsage().maxRSS / 1024;
    const before = peak();
    let slowest = { ms: 0, number: -1 };
    for (let number = FROM; number < CASES; number++) {
      let ms: number;
      try {
        ms = await run(number);
      } catch (error) {
        throw new Error(`case ${number} of QUARK_SEED=${SEED} (${mutatedCase(number).format})`, {
          cause: error,
        });
      }
      if (ms > slowest.ms) slowest = { ms, number };
    }
    if (!isLong) return;
    const { format } = mutatedCase(slowest.number);
    process.stdout.write(
      `seed ${SEED}: ${CASES} cases, slowest ${slowest.ms.toFixed(0)} ms of CPU (case ${slowest.number}, ${format}), peak memory ${peak().toFixed(0)} MB, ${before.toFixed(0)} MB of it before\n`,
    );
    expect(slowest.ms).toBeLessThan(MAX_CASE_MS);
    expect(peak()).toBeLessThan(MAX_MEMORY_MB);
  },
  isLong ? 4 * 3_600_000 : 120_000,
);
