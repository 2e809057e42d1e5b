/** `quark profile RUN [OTHER]`: memory and time at the steps of a program; two profiles side by side; exports. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { QuarkError, type Store } from '../../index.ts';
import {
  compareProfiles,
  profileFindings,
  profileJson,
  profileOutline,
  profileTrace,
  profileYaml,
  readProfiles,
  type Profile,
  type ProfileFinding,
  type ProfileLine,
  type StepComparison,
} from '../../profiler.ts';
import { columns, UsageError } from '../support/args.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  unwritable,
  withStore,
  type Command,
} from '../support/command.ts';
import { byteText, counted, onTerminal, shortNumber, table, type Style } from '../support/text.ts';

const FORMATS = ['yaml', 'trace', 'json'] as const;

export const profileCommand: Command = {
  spec: {
    name: 'profile',
    summary: 'Show where a program needed memory and time, export that, or compare two runs.',
    positionals: ['RUN', '[OTHER]'],
    options: {
      ...STORAGE_OPTIONS,
      export: {
        kind: 'text',
        value: 'FORMAT',
        choices: FORMATS,
        help: 'Write the profile: yaml as AMD Quark has it, trace for Perfetto and Chrome, json.',
      },
      out: { kind: 'text', value: 'FILE', help: 'File for --export. Default: standard output.' },
      profile: {
        kind: 'text',
        value: 'ID',
        help: 'Which profile of a run that has several. Default: the last one.',
      },
      json: JSON_OPTION,
    },
    notes: [
      'A run has a profile where its session was started with profile: true or QUARK_PROFILING=1, its program made a Profiler of quark-sdk/profiler, or it was imported from AMD Quark.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io, style } = context;
      const [first = '', second] = args.positionals;
      const format = args.text('export');
      if (second !== undefined && format !== undefined)
        throw new UsageError('--export writes one profile: give one run', 'profile');
      if (format === undefined && args.text('out') !== undefined)
        throw new UsageError('--out needs --export', 'profile');
      const profile = await profileOf(store, first, args.text('profile'));
      if (second !== undefined) {
        const other = await profileOf(store, second, undefined);
        const text = args.flag('json')
          ? jsonText(compareProfiles(profile, other))
          : describeTwo(profile, other, io.stdout.columns, style);
        await io.stdout.write(text);
      } else if (format !== undefined) {
        const text = exported(profile, format);
        const out = args.text('out');
        if (out === undefined) await io.stdout.write(text);
        else
          await writeFile(resolve(io.cwd, out), text).catch((error: unknown) => {
            throw unwritable(out, error);
          });
      } else if (args.flag('json')) {
        const findings = profileFindings(profile).map(findingText);
        await io.stdout.write(jsonText({ ...profileJson(profile), findings }));
      } else await io.stdout.write(describe(profile, io.stdout.columns, style));
      return EXIT.ok;
    }),
};

async function profileOf(store: Store, run: string, id: string | undefined): Promise<Profile> {
  const reader = await findRunByPrefix(store, run);
  const profiles = await readProfiles(reader);
  const found = id === undefined ? profiles.at(-1) : profiles.find((one) => one.id === id);
  if (found !== undefined) return found;
  const known = profiles.map((one) => one.id).join(', ');
  throw new QuarkError(
    'invalid_input',
    profiles.length === 0
      ? `Run ${reader.run.id} has no profile. Start its session with profile: true, or QUARK_PROFILING=1.`
      : `Run ${reader.run.id} has no profile "${id}", but ${known}.`,
    { details: { field: 'profile', value: id ?? run, rule: 'a profile of the run' } },
  );
}

function exported(profile: Profile, format: string): string {
  if (format === 'yaml') return profileYaml(profile);
  return format === 'trace'
    ? `${JSON.stringify(profileTrace(profile))}\n`
    : jsonText(profileJson(profile));
}

function describe(profile: Profile, width: number | undefined, style: Style): string {
  const { droppedCheckpoints, endedMs, id, readings, summary } = profile;
  const rows: [string, string][] = Object.entries(summary).map(([name, value]) => [
    name.replace(/_bytes$/, '').replaceAll('_', ' '),
    name.endsWith('_bytes') ? byteText(value) : shortNumber(value),
  ]);
  if (endedMs === null) rows.push(['end', 'none: the program runs, or crashed']);
  if (droppedCheckpoints > 0) rows.push(['left out', counted(droppedCheckpoints, 'checkpoint')]);
  const lines = profileOutline(profile);
  const hasGpu = readings.some(({ measure }) => measure === 'gpu_bytes');
  const steps =
    lines.length === 0
      ? ''
      : table<ProfileLine>(
          [
            {
              title: 'STEP',
              cell: ({ depth, hasFailed, name }) =>
                `${'  '.repeat(depth)}${name}${hasFailed ? ' (failed)' : ''}`,
              isElastic: true,
            },
            { title: 'TIMES', cell: (line) => String(line.scopes.length), align: 'right' },
            { title: 'TIME', cell: (line) => msText(line.totalMs), align: 'right' },
            { title: 'PEAK', cell: (line) => peakOf(line, 'rss_bytes'), align: 'right' },
            { title: 'CHANGE', cell: (line) => changeOf(line), align: 'right' },
            ...(hasGpu
              ? [
                  {
                    title: 'GPU',
                    cell: (line: ProfileLine) => peakOf(line, 'gpu_bytes'),
                    align: 'right',
                  } as const,
                ]
              : []),
          ],
          lines,
          width,
          style,
        );
  const findings = profileFindings(profile).map((one) => `- ${onTerminal(findingText(one))}\n`);
  return [
    `${style.bold(onTerminal(id))}\n${columns(rows)}`,
    steps,
    findings.length === 0 ? '' : `${style.bold('Findings')}\n${findings.join('')}`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function peakOf({ scopes }: ProfileLine, measure: string): string {
  const peaks = scopes.flatMap((scope) => scope.peaks[measure] ?? []);
  return peaks.length === 0 ? '-' : byteText(Math.max(...peaks));
}

/** Of resident memory, from the start to the end of all of them. */
function changeOf({ rssChange }: ProfileLine): string {
  if (rssChange === null) return '-';
  return `${rssChange < 0 ? '-' : '+'}${byteText(Math.abs(rssChange))}`;
}

/** `812 ms`, `12.3 s`, `4:05` minutes. */
function msText(ms: number): string {
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`;
  return `${Number((ms / 1000).toPrecision(ms < 100_000 ? 3 : 4))} s`;
}

/** A finding as a sentence. */
function findingText(finding: ProfileFinding): string {
  switch (finding.kind) {
    case 'peak': {
      const { measure, path, rise, value } = finding;
      return `The peak of ${nameOf(measure)} is ${amount(measure, value)}, in ${path.join(' > ')}: ${amount(measure, rise)} more than at the start.`;
    }
    case 'growth': {
      const { culprit, measure, perTime, scopeName, times, total } = finding;
      const who = culprit === null ? '' : ` ${culprit} does not give it back.`;
      return `${nameOf(measure, true)} grows with each ${scopeName}: by ${amount(measure, perTime)}, ${amount(measure, total)} in ${times} of them.${who}`;
    }
    case 'not_training': {
      const { parts, share } = finding;
      const named = parts.slice(0, 3).map(({ ms, name }) => `${name} ${msText(ms)}`);
      const what = named.length === 0 ? '' : `: ${named.join(', ')}`;
      return `${Math.round(100 * share)} % of the time is not training${what}.`;
    }
  }
}

const NAMES: Readonly<Record<string, string>> = {
  rss_bytes: 'resident memory',
  heap_bytes: 'the JavaScript heap',
  external_bytes: 'memory outside the heap',
  array_buffer_bytes: 'memory of array buffers',
  wasm_bytes: 'WebAssembly memory',
  tensor_count: 'the number of tensors',
  tensor_bytes: 'memory of tensors',
  tensor_gpu_bytes: 'memory of tensors on the GPU',
  webgpu_bytes: 'memory of WebGPU buffers',
  gpu_bytes: 'GPU memory',
  page_bytes: 'memory of the page',
};

function nameOf(measure: string, isFirst = false): string {
  const name = NAMES[measure] ?? measure;
  return isFirst ? name.charAt(0).toUpperCase() + name.slice(1) : name;
}

function amount(measure: string, value: number): string {
  return measure.endsWith('_bytes') ? byteText(Math.round(value)) : shortNumber(value);
}

function describeTwo(a: Profile, b: Profile, width: number | undefined, style: Style): string {
  const { steps, summary } = compareProfiles(a, b);
  const time = (step: StepComparison, of: 'a' | 'b'): string => {
    const totals = step[of];
    return totals === null ? '-' : msText(totals.totalMs);
  };
  const peak = (step: StepComparison, of: 'a' | 'b'): string => {
    const bytes = step[of]?.rssPeakBytes ?? null;
    return bytes === null ? '-' : byteText(bytes);
  };
  const ratio = ({ a: first, b: then }: StepComparison): string =>
    first === null || then === null || first.totalMs === 0
      ? '-'
      : `${Number((then.totalMs / first.totalMs).toPrecision(3))} x`;
  const stepsTable = table<StepComparison>(
    [
      { title: 'STEP', cell: ({ name }) => name, isElastic: true },
      { title: 'TIME A', cell: (step) => time(step, 'a'), align: 'right' },
      { title: 'TIME B', cell: (step) => time(step, 'b'), align: 'right' },
      { title: 'B / A', cell: ratio, align: 'right' },
      { title: 'PEAK A', cell: (step) => peak(step, 'a'), align: 'right' },
      { title: 'PEAK B', cell: (step) => peak(step, 'b'), align: 'right' },
    ],
    steps,
    width,
    style,
  );
  const value = (name: string, number: number | null): string => {
    if (number === null) return '-';
    return name.endsWith('_bytes') ? byteText(number) : shortNumber(number);
  };
  const summaryTable = table(
    [
      { title: 'WHOLE', cell: ({ name }: (typeof summary)[number]) => name, isElastic: true },
      { title: 'A', cell: (one) => value(one.name, one.a), align: 'right' },
      { title: 'B', cell: (one) => value(one.name, one.b), align: 'right' },
    ],
    summary,
    width,
    style,
  );
  return steps.length === 0 ? summaryTable : `${stepsTable}\n${summaryTable}`;
}
