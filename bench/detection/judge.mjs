// Lets the analyzer and the baselines judge the recorded traces.
import { analyzeColumns, loadRunColumns } from '../../dist/analysis.js';
import { listRuns, openRun, openStorage } from '../../dist/index.js';
import { BASELINES } from './baselines.mjs';
import { FAULTS } from './faults.mjs';
import { hurts } from './harm.mjs';
import { PROGRAMS } from './programs.mjs';
import { TUTORIALS } from './tutorials/programs.mjs';
import { groupBy, lead, score, scoreByRule } from './score.mjs';

/** How much of a trace is shown, for the ablation; all of it at every step is what the analyzer itself is judged by. */
const VIEWS = {
  'metrics only': { layers: false, parameters: false, batches: false, telemetry: false },
  '+ layers': { parameters: false, batches: false, telemetry: false },
  '+ parameters': { layers: false, batches: false, telemetry: false },
  '+ batches': { layers: false, parameters: false, telemetry: false },
  'all, every 10th step': { every: 10 },
  'all, every 100th step': { every: 100 },
};

/**
 * @param outcomes lines of record.mjs
 * @param root folder of the stores
 */
export async function judge(outcomes, root) {
  const { counted, left } = sift(outcomes);
  const judged = [];
  for (const [program, runs] of groupBy(counted, (run) => run.program)) {
    const store = await openStorage(`file:${root}${program}`);
    const ids = await runIds(store);
    for (const run of runs) {
      const id = ids.get(`${run.variant}/${run.seed}`);
      const columns = await loadRunColumns(await openRun(store, id));
      judged.push(judgeRun(run, columns));
    }
    await store.close();
  }
  const of = (isTutorial, isHeldOut) =>
    judged.filter((run) => run.isTutorial === isTutorial && run.heldOut === isHeldOut);
  const heldOut = of(false, true);
  const sets = Object.fromEntries(
    [
      ['Programs held out', heldOut],
      ['Programs that thresholds were tried on', of(false, false)],
      ['Tutorial programs, the ten unseen', of(true, true)],
      ['Tutorial programs that thresholds were tried on', of(true, false)],
    ].filter(([, runs]) => runs.length > 0),
  );
  const scoresOf = (runs, judges) =>
    Object.fromEntries(
      judges.map((name) => [name, score(runs.map((run) => ({ ...run, said: run.saidBy[name] })))]),
    );
  return {
    left,
    sets: Object.fromEntries(
      Object.entries(sets).map(([name, runs]) => [
        name,
        scoresOf(runs, ['Quark', 'Quark, reference rules', ...Object.keys(BASELINES)]),
      ]),
    ),
    leads:
      heldOut.length === 0
        ? {}
        : Object.fromEntries(
            Object.keys(BASELINES).map((name) => [name, lead(heldOut, 'Quark', name)]),
          ),
    rules: Object.fromEntries(
      Object.entries(sets).map(([name, runs]) => [
        name,
        scoreByRule(runs.map((run) => ({ ...run, said: run.saidBy.Quark }))),
      ]),
    ),
    programs: Object.fromEntries(
      [...groupBy(judged, ({ program }) => program)].map(([name, runs]) => [
        name,
        scoresOf(runs, ['Quark']).Quark,
      ]),
    ),
    ablation:
      heldOut.length === 0
        ? {}
        : {
            'all, every step': scoresOf(heldOut, ['Quark']).Quark,
            ...scoresOf(heldOut, Object.keys(VIEWS)),
          },
    missed: listMissed(judged.filter((run) => !run.heldOut)),
  };
}

/** Drops faults that did no harm and variants that are not healthy. */
function sift(outcomes) {
  const groups = groupBy(outcomes, ({ program, variant }) => `${program}/${variant}`);
  const left = { harmless: [], unhealthy: [] };
  const counted = [...groups].flatMap(([name, runs]) => {
    const { program, variant, kind } = runs[0];
    if (variant === 'healthy') return runs;
    const healthy = groups.get(`${program}/healthy`).map(({ outcome }) => outcome);
    const doesHurt = hurts(
      healthy,
      runs.map(({ outcome }) => outcome),
      variantOf(program, variant).harm ?? 'metric',
    );
    if (kind === 'fault' && !doesHurt) left.harmless.push(name);
    if (kind === 'healthy' && doesHurt) left.unhealthy.push(name);
    return doesHurt === (kind === 'fault') ? runs : [];
  });
  return { counted, left };
}

async function runIds(store) {
  const ids = new Map();
  // A recording that was broken off leaves a run behind that never came to its end.
  for (const { run } of await listRuns(store))
    if (run.status === 'completed') ids.set(`${run.config.variant}/${run.config.seed}`, run.id);
  return ids;
}

/** What is known of a variant: `{ heldOut, isTutorial, isFault, accepted, causes, layers, from, harm }`. */
function variantOf(programName, id) {
  const tutorial = TUTORIALS.find(({ name }) => name === programName);
  if (tutorial) {
    const found = tutorial.variants.find((variant) => variant.id === id);
    const { accepted, causes, harm, kind, layer } = found;
    const known = { accepted, causes, harm, layers: layer ? [layer] : [], from: 0 };
    return { ...known, heldOut: tutorial.heldOut, isTutorial: true, isFault: kind === 'fault' };
  }
  const program = PROGRAMS.find(({ name }) => name === programName);
  const fault = FAULTS.find((one) => one.id === id);
  return {
    heldOut: program.heldOut,
    isTutorial: false,
    isFault: fault !== undefined,
    accepted: fault?.accepted ?? [],
    causes: fault?.causes ?? [],
    layers: [fault?.layer(fault.change(program)) ?? []].flat(),
    from: fault?.from ?? 0,
    harm: fault?.harm,
  };
}

function judgeRun({ program, variant, seed, outcome }, columns) {
  const saidBy = {
    Quark: alertsOf(analyzeColumns(columns)),
    'Quark, reference rules': alertsOf(
      analyzeColumns(columns, { compatibility: 'reference' }),
    ).filter(({ ruleId }) => REFERENCE_RULES.has(ruleId)),
  };
  for (const [name, baseline] of Object.entries(BASELINES)) saidBy[name] = baseline(columns);
  for (const [name, view] of Object.entries(VIEWS))
    saidBy[name] = alertsOf(analyzeColumns(shown(columns, view)));
  const steps = outcome.steps ?? columns.metrics.get('train/loss').steps.length;
  return { program, variant, seed, saidBy, steps, ...variantOf(program, variant) };
}

const REFERENCE_RULES = new Set([
  'exploding_gradients',
  'vanishing_gradients',
  'stagnant_layers',
  'activation_collapse',
  'overfitting_onset',
  'runtime_bottleneck_risk',
]);

/** Alerts that ask for something to be done, in the order of the result; what merely informs does not count, for nor against. */
function alertsOf({ alerts }) {
  return alerts
    .filter(({ severity }) => severity !== 'info')
    .map(({ ruleId, stepStart, evidence }) => ({
      ruleId,
      step: stepStart,
      layer: evidence.find(({ metadata }) => metadata?.module_name)?.metadata.module_name ?? null,
    }));
}

function shown(
  columns,
  { every = 1, layers = true, parameters = true, batches = true, telemetry = true },
) {
  const thin = (series) => {
    const rows = [...series.steps.keys()].filter((row) => series.steps[row] % every === 0);
    return Object.fromEntries(
      Object.entries(series).map(([name, column]) => [
        name,
        column instanceof Float64Array ? Float64Array.from(rows, (row) => column[row]) : column,
      ]),
    );
  };
  return {
    ...columns,
    layers: layers ? columns.layers.map(thin) : [],
    parameters: parameters ? columns.parameters.map(thin) : [],
    batches: batches ? columns.batches : { ...columns.batches, rowCount: 0 },
    telemetry: telemetry ? columns.telemetry : { ...columns.telemetry, rowCount: 0 },
  };
}

/** Faults and how often each was found, and what was said of healthy programs: where to look next. Not of programs held out. */
function listMissed(judged) {
  return [...groupBy(judged, ({ program, variant }) => `${program}/${variant}`)].map(
    ([name, runs]) => ({
      name,
      isFault: runs[0].isFault,
      runs: runs.length,
      found: runs.filter(({ saidBy, accepted }) =>
        saidBy.Quark.some(({ ruleId }) => accepted.includes(ruleId)),
      ).length,
      said: count(
        runs.flatMap(({ saidBy }) => [...new Set(saidBy.Quark.map(({ ruleId }) => ruleId))]),
      ),
      first: count(runs.map(({ saidBy }) => saidBy.Quark[0]?.ruleId ?? 'nothing')),
    }),
  );
}

function count(names) {
  return Object.fromEntries(
    [...groupBy(names, (name) => name)].map(([name, list]) => [name, list.length]),
  );
}
