// `npm run campaign`: every test that takes too long for `npm test`. `npm run campaign -- kills properties` runs some parts,
// `--help` lists them. Ends with a table and the sum of all of it: `N passed, N failed`. Exit code 1 on any failure.
//
// Property tests, which have one seed in `npm test`, draw another here; it is printed, and `--seed N` says it. With `--record`
// the result is written to docs/campaigns.md, with the commit and the date.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtinSteps } from './builtin-steps.mjs';
import { bin, root, run, script } from './run-program.mjs';
import { countReport } from './vitest-report.mjs';

/** Time limit of a step. A step that is still running after it hangs. */
const STEP_LIMIT_MS = 4 * 60 * 60_000;
const RECORD = join(root, 'docs/campaigns.md');
const BEGIN = '<!-- campaign: begin -->';
const END = '<!-- campaign: end -->';
const resultsFile = join(root, 'build/campaign-results.json');

/** A step of tests, with their rounds multiplied. */
const tests = (name, files, env = {}) => ({ name, files, env });
/** A command of its own, which counts as one test; left out where its files are not there. */
const command = (name, [program, args], missing) => ({ name, program, args, missing });

const scripts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;

/** Parts of the siege, each a step of its own. */
const SIEGES = [
  'leave',
  'expensive',
  'slow',
  'keys',
  'powercut',
  'mutate',
  'routes',
  'upgrade',
  'kills',
  'pooler',
  'disks',
];

const PARTS = {
  tests: {
    about: 'every test of `npm test` and those beyond one path of a feature',
    steps: [command('tests', script('test:long'))],
  },
  kills: {
    about: 'stores, services, clients, PostgreSQL and PgBouncer killed under load',
    steps: [
      tests('SQLite', ['test/kill/sqlite-kill.test.ts'], { QUARK_RUNS: '22' }),
      tests('IndexedDB', ['test/kill/idb-kill.test.ts', 'test/kill/idb-quota.test.ts'], {
        QUARK_RUNS: '10',
      }),
      tests('PostgreSQL', ['test/kill/postgres-kill.test.ts'], { QUARK_RUNS: '11' }),
      tests('upgrade', ['test/kill/upgrade-kill.test.ts', 'test/kill/idb-upgrade-kill.test.ts'], {
        QUARK_RUNS: '5',
        QUARK_LONG: '1',
      }),
      tests(
        'service',
        [
          'test/faults/kill-service.test.ts',
          'test/faults/kill-postgres.test.ts',
          'test/faults/kill-maintenance.test.ts',
          'test/faults/network.test.ts',
          'test/faults/outbox.test.ts',
          'test/process/outbox-kill.test.ts',
        ],
        { QUARK_RUNS: '20' },
      ),
      tests('pgbouncer', ['test/faults/kill-pgbouncer.test.ts'], { QUARK_RUNS: '25' }),
    ],
  },
  pooler: {
    about: 'the tests of the service, each service over PostgreSQL through PgBouncer',
    steps: [tests('service tests', ['test/service'], { QUARK_TEST_STORAGE: 'pgbouncer' })],
  },
  properties: {
    about: 'property tests and hostile requests from a new seed, and those over 10^8 elements',
    steps: [
      tests(
        'properties',
        [
          'test/property',
          'test/unit',
          'test/adapters',
          'test/contract',
          'test/database',
          'test/process/query-runs',
          'test/service',
        ],
        { QUARK_RUNS: '5', isSeeded: true },
      ),
      tests('made trainings', ['test/property/stories'], { QUARK_RUNS: '17', isSeeded: true }),
      tests('hostile requests', ['test/faults/hostile.test.ts'], {
        QUARK_RUNS: '13',
        isSeeded: true,
      }),
      tests(
        'long',
        ['test/property/kernel-long', 'test/property/series', 'test/unit/objects/large'],
        {
          QUARK_LONG: '1',
        },
      ),
    ],
  },
  runtimes: {
    about:
      'the SQLite of Node 22, 24 and 26: contract, backups, doctor and kills; needs `npm run matrix` once',
    steps: builtinSteps,
  },
  fuzz: {
    about: '100,000 mutated files through every importer',
    steps: [command('mutated files', [process.execPath, ['scripts/fuzz.mjs']])],
  },
  sieges: {
    about: 'a service besieged by real processes; needs a build',
    steps: SIEGES.map((part) =>
      command(
        part,
        [process.execPath, ['bench/siege.mjs', `--only=${part}`, '--long']],
        existsSync(join(root, 'dist/cli.js')) ? undefined : 'there is no build in dist',
      ),
    ),
  },
  engines: {
    about: 'Chromium, Firefox and WebKit; needs a build',
    steps: [
      command(
        'engines',
        script('test:engines'),
        'test:engines' in scripts ? undefined : 'package.json has no test:engines',
      ),
    ],
  },
};

const HELP = `npm run campaign -- [PART...] [--seed N] [--record]

Runs what is too long for "npm test"; PART:STEP runs one step of a part; without a part, all of them:
${Object.entries(PARTS)
  .map(([name, { about }]) => `  ${name.padEnd(12)}${about}`)
  .join('\n')}

  --seed N    the seed of property tests; without it, one is drawn
  --record    write the result of each step that ran to its row of docs/campaigns.md`;

/** What a step comes to; figures are the lines that begin with "Figures: ". */
async function runStep(step, seed) {
  if (step.missing !== undefined)
    return { passed: 0, failed: 0, skipped: 1, failures: [], figures: [step.missing] };
  let said = '';
  const options = {
    hear: (chunk) => {
      said += chunk.toString();
    },
    limitMs: STEP_LIMIT_MS,
  };
  const figures = () => [...said.matchAll(/Figures: (.+)/g)].map(([, text]) => text);
  if (step.program !== undefined) {
    const code = await run(step.program, step.args, options);
    const failures = code === 0 ? [] : [`${step.name}: exit code ${code}`];
    return {
      passed: 1 - failures.length,
      failed: failures.length,
      skipped: 0,
      failures,
      figures: figures(),
    };
  }
  rmSync(resultsFile, { force: true });
  const { isSeeded, ...env } = step.env;
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${resultsFile}`];
  // Long rounds are bounded by the step, not by what a short one takes.
  const patience = ['--testTimeout=3600000', '--hookTimeout=600000'];
  const workers = `--maxWorkers=${availableParallelism()}`;
  const [program, ...first] = step.vitest ?? [bin('vitest')];
  const code = await run(
    program,
    [...first, 'run', workers, ...patience, ...reporters, ...step.files],
    { ...options, env: { ...env, ...(isSeeded ? { QUARK_SEED: String(seed) } : {}) } },
  );
  return { ...countReport(resultsFile, code, root), figures: figures() };
}

const HEAD = [
  'part',
  'step',
  'passed',
  'failed',
  'skipped',
  'minutes',
  'commit',
  'date',
  'figures',
];

function rowOf({ part, name, passed, failed, skipped, minutes, figures }, where) {
  const counts = [passed, failed, skipped].map(String);
  const { commit, date } = where;
  return [part, name, ...counts, minutes.toFixed(1), commit, date, figures.join('; ')];
}

function table(rows) {
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(HEAD), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** The commit and the day of a result. */
function whereNow() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root });
  // The record itself changes with each campaign.
  const status = ['status', '--porcelain', '--', '.', ':!docs/campaigns.md'];
  const changed = execFileSync('git', status, { cwd: root }).length > 0;
  return {
    commit: `${String(commit).trim()}${changed ? ' with changes' : ''}`,
    date: new Date().toISOString().slice(0, 10),
  };
}

/** The rows of a recorded table. */
const rowsIn = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter((cells) => cells.length === HEAD.length);

/** Replaces the rows of the steps that ran; the other rows and the text around the table stay. */
function record(rows) {
  const before = readFileSync(RECORD, 'utf8');
  const [start, end] = [before.indexOf(BEGIN), before.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`${RECORD} has lost its marks.`);
  const nameOf = ([part, step]) => `${part}:${step}`;
  const last = new Map(
    [...rowsIn(before.slice(start, end)), ...rows].map((row) => [nameOf(row), row]),
  );
  const order = Object.entries(PARTS).flatMap(([part, { steps }]) =>
    steps.map(({ name }) => nameOf([part, name])),
  );
  const text = table(order.filter((name) => last.has(name)).map((name) => last.get(name)));
  writeFileSync(RECORD, `${before.slice(0, start)}${BEGIN}\n\n${text}\n\n${before.slice(end)}`);
  execFileSync(bin('oxfmt'), [RECORD], { cwd: root, shell: process.platform === 'win32' });
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      record: { type: 'boolean' },
      seed: { type: 'string' },
    },
  });
  const isKnown = (name) => {
    const [part, step] = name.split(':');
    if (!Object.hasOwn(PARTS, part)) return false;
    return step === undefined || PARTS[part].steps.some((one) => one.name === step);
  };
  const unknown = positionals.filter((name) => !isKnown(name));
  if (unknown.length > 0) throw new Error(`No part is called ${unknown.join(', ')}.`);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  if (!Number.isInteger(seed)) throw new Error('--seed takes a whole number.');
  const names = positionals.length > 0 ? [...new Set(positionals)] : Object.keys(PARTS);
  return { isHelp: values.help === true, isRecorded: values.record === true, seed, names };
}

async function main({ isRecorded, seed, names }) {
  mkdirSync(join(root, 'build'), { recursive: true });
  console.log(`campaign: ${names.join(', ')}; seed ${seed}`);
  const results = [];
  for (const name of names) {
    const [part, only] = name.split(':');
    for (const step of PARTS[part].steps.filter((one) => only === undefined || one.name === only)) {
      console.log(`\n== ${part}: ${step.name}`);
      const startMs = performance.now();
      const result = await runStep(step, seed);
      const minutes = (performance.now() - startMs) / 60_000;
      if (step.env?.isSeeded) result.figures.push(`seed ${seed}`);
      results.push({ part, name: step.name, minutes, ...result });
    }
  }
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  const failures = results.flatMap((result) => result.failures);
  const tail = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  const summary = `${sum('passed')} passed, ${sum('failed')} failed${tail}`;
  const where = whereNow();
  const rows = results.map((result) => rowOf(result, where));
  if (failures.length > 0) console.log(`\nFailed:\n  ${failures.join('\n  ')}`);
  console.log(`\n${table(rows)}`);
  if (isRecorded) record(rows);
  process.stdout.write(`\n${summary}\n`, () => process.exit(sum('failed') === 0 ? 0 : 1));
}

let asked;
try {
  asked = readArguments();
} catch (error) {
  console.error(`${error.message}\n\n${HELP}`);
  process.exit(2);
}
if (asked.isHelp) console.log(HELP);
else await main(asked);
