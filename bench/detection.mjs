// How well faults in trainings are found: small networks of TensorFlow.js, healthy and with faults injected, judged by the analyzer
// and by the published rules of others on the same traces.
//
//   npm run bench -- detection [--seeds=20] [--programs=a,b] [--set=classic|tutorials] [--jobs=2] [--judge-only]
//
// Traces are kept under build/detection/, a store a program, and judged again with --judge-only. The figures that count are those of
// the programs that are held out: nobody looked at their traces while thresholds were chosen.
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { judge } from './detection/judge.mjs';
import { PROGRAMS } from './detection/programs.mjs';
import { TUTORIALS } from './detection/tutorials/programs.mjs';
import { printScores } from './detection/print.mjs';
import { save } from './harness.mjs';

const option = (name) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const seeds = Number(option('seeds') ?? 20);
const jobs = Number(option('jobs') ?? availableParallelism());
const wanted = option('programs')?.split(',');
const sets = { classic: PROGRAMS, tutorials: TUTORIALS };
const set = option('set');
if (set !== undefined && !Object.hasOwn(sets, set))
  throw new Error(`--set is one of ${Object.keys(sets).join(', ')}`);
const programs = (set === undefined ? Object.values(sets).flat() : sets[set]).filter(
  ({ name }) => wanted === undefined || wanted.includes(name),
);
const root = fileURLToPath(new URL('../build/detection/', import.meta.url));

if (!process.argv.includes('--judge-only')) await record();
const runs = programs.flatMap(({ name }) => readOutcomes(name));
const scores = await judge(runs, root);
printScores(scores);
await save('detection', { seeds, ...scores });

/** A process a program, `jobs` of them at a time. */
async function record() {
  mkdirSync(root, { recursive: true });
  const waiting = [...programs];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await recordOne(next.name);
  };
  await Promise.all(Array.from({ length: Math.min(jobs, programs.length) }, work));
}

function recordOne(name) {
  const store = `${root}${name}`;
  rmSync(store, { recursive: true, force: true });
  writeFileSync(outcomesOf(name), '');
  const script = fileURLToPath(new URL('detection/record.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, name, String(seeds), store], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.on('data', (text) => appendFileSync(outcomesOf(name), text));
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${name}: the training ended with ${code}`));
    });
  });
}

function outcomesOf(name) {
  return `${root}${name}.jsonl`;
}

function readOutcomes(name) {
  if (!existsSync(outcomesOf(name))) return [];
  return readFileSync(outcomesOf(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
