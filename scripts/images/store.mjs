// The store that the images show: a sweep of dense networks, one that diverged, a convolutional one, one that goes on, and a report.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { saveReport } from 'quark-sdk/workspace';
import { beginLongRun, recordBroken, recordConvolutional, recordSweepRun } from './digits.mjs';

const RATES = [0.03, 0.01, 0.003, 0.0003];
const UNITS = [16, 64];
const SEEDS = [1, 2];

/** Text, two charts and a table: what somebody would write of the sweep. */
const REPORT = {
  title: 'Which rate for the digits?',
  blocks: [
    {
      kind: 'text',
      text: `Sixteen dense networks of one hidden layer, at four rates of Adam, with 16 or 64 units and two seeds each.

- **0.03 and 0.01** are best; 0.003 gets there later, and 0.0003 needs more epochs than it was given.
- 64 units are better than 16 at every rate.`,
    },
    {
      kind: 'chart',
      metric: 'val/loss',
      where: 'status = completed and tag:sweep and config.units = 64',
    },
    {
      kind: 'runs',
      where: 'tag:sweep and status = completed',
      columns: [
        'config.rate',
        'config.units',
        'metrics.val/accuracy.best',
        'metrics.val/loss.best',
      ],
    },
  ],
};

/** A repository with the program that trains, changed since its last commit: what a run records of its code. */
function makeRepository(folder) {
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: folder,
    });
  mkdirSync(folder, { recursive: true });
  git('init', '--quiet', '--initial-branch', 'main');
  const program = join(folder, 'train.mjs');
  cpSync(new URL('digits.mjs', import.meta.url), program);
  git('add', '.');
  git('commit', '--quiet', '--message', 'Train on the digits');
  const changed = readFileSync(program, 'utf8').replace('const SHOWN = 8;', 'const SHOWN = 16;');
  writeFileSync(program, changed.replace('const TRAIN_COUNT = 1400;', 'const TRAIN_COUNT = 1200;'));
}

/**
 * Records into a store, by a program in a repository in `folder`, and says which run stands for what, as `viewsOf` takes it. `close` ends the run that goes on until then.
 */
export async function recordStore(store, folder, say) {
  makeRepository(folder);
  process.chdir(folder);
  const compared = [];
  for (const rate of RATES)
    for (const units of UNITS)
      for (const seed of SEEDS) {
        compared.push(await recordSweepRun(store, { rate, units, seed }));
        say(
          `${compared.length} of ${RATES.length * UNITS.length * SEEDS.length} runs of the sweep`,
        );
      }
  const broken = await recordBroken(store);
  say('the run that diverged');
  const whole = await recordConvolutional(store, compared[10]);
  say('the convolutional network');
  const live = await beginLongRun(store);
  const saved = await saveReport(store, 'digits', REPORT);
  return {
    ids: {
      compared,
      broken,
      media: whole,
      probed: { id: whole, layer: 'conv2' },
      profiled: whole,
      batches: whole,
      group: 'config.rate',
      report: { project: 'digits', id: saved.report.id },
    },
    close: () => live.endRun('interrupted'),
  };
}
