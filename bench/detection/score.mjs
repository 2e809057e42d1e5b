// From what was said of each run to precision, recall, causes, layers, delay and false alarms, with their intervals.
import { uniform } from './random.mjs';

/**
 * A judged run: `{ program, variant, seed, isFault, accepted, causes, layers, from, steps, said }`, `said` being the alerts in the
 * order of their importance: `{ ruleId, step, layer }`.
 */
export function score(runs) {
  const faults = runs.filter(({ isFault }) => isFault);
  const healthy = runs.filter(({ isFault }) => !isFault);
  const found = faults.filter((run) => run.said.some((alert) => isRight(run, alert)));
  const wronglyAccused = runs.filter(
    (run) => run.said.length > 0 && !(run.isFault && run.said.some((alert) => isRight(run, alert))),
  );
  const precision = found.length / (found.length + wronglyAccused.length);
  const recall = found.length / faults.length;
  const withLayer = found.filter(
    ({ layers, said }) => layers.length > 0 && said.some((alert) => alert.layer),
  );
  const delays = found.map(
    (run) =>
      Math.min(
        ...run.said.filter((alert) => isRight(run, alert)).map(({ step }) => step ?? run.steps),
      ) -
      run.from * run.steps,
  );
  const healthySteps = healthy.reduce((sum, { steps }) => sum + steps, 0);
  const falseAlarms = healthy.reduce((sum, { said }) => sum + said.length, 0);
  return {
    faultyRuns: faults.length,
    healthyRuns: healthy.length,
    precision: {
      value: precision,
      interval: wilson(found.length, found.length + wronglyAccused.length),
    },
    recall: { value: recall, interval: wilson(found.length, faults.length) },
    f1: { value: f1(precision, recall), interval: interval(bootstrap(runs, f1Of)) },
    firstCause: share(found, (run) => run.causes.includes(run.said[0].ruleId)),
    firstLayer: share(withLayer, ({ layers, said }) =>
      layers.includes(said.find((alert) => alert.layer).layer),
    ),
    delaySteps: { median: quantile(delays, 0.5), p90: quantile(delays, 0.9) },
    healthySteps,
    falseAlarmsPer1000: {
      value: (1000 * falseAlarms) / healthySteps,
      interval: byar(falseAlarms).map((count) => (1000 * count) / healthySteps),
    },
    healthyAccused: share(healthy, ({ said }) => said.length > 0),
  };
}

/**
 * By how much the F1 of one judge is above that of another, on the same resamples of variants.
 *
 * @param runs the judged runs, with the alerts of each judge under its name in `saidBy`
 */
export function lead(runs, one, other) {
  const saidBy = (name) => runs.map((run) => ({ ...run, said: run.saidBy[name] }));
  const [first, second] = [one, other].map((name) => bootstrap(saidBy(name), f1Of));
  return {
    value: f1Of(sumOf(countGroups(saidBy(one)))) - f1Of(sumOf(countGroups(saidBy(other)))),
    interval: interval(first.map((value, i) => value - second[i])),
  };
}

/** How often each rule spoke, and how often rightly. */
export function scoreByRule(runs) {
  const rules = new Map();
  for (const run of runs)
    for (const ruleId of new Set(run.said.map((alert) => alert.ruleId))) {
      const entry = rules.get(ruleId) ?? { ruleId, runs: 0, right: 0, onHealthy: 0 };
      entry.runs += 1;
      if (run.isFault && run.accepted.includes(ruleId)) entry.right += 1;
      if (!run.isFault) entry.onHealthy += 1;
      rules.set(ruleId, entry);
    }
  const could = (ruleId) =>
    runs.filter(({ isFault, accepted }) => isFault && accepted.includes(ruleId)).length;
  return [...rules.values()]
    .map((entry) => {
      const precision = entry.right / entry.runs;
      const recall = could(entry.ruleId) === 0 ? NaN : entry.right / could(entry.ruleId);
      return {
        ...entry,
        precision: { value: precision, interval: wilson(entry.right, entry.runs) },
        recall: { value: recall, interval: wilson(entry.right, could(entry.ruleId)) },
        f1: f1(precision, recall),
      };
    })
    .toSorted((a, b) => b.runs - a.runs);
}

const f1 = (precision, recall) =>
  precision + recall > 0 ? (2 * precision * recall) / (precision + recall) : 0;

function share(list, isOne) {
  const count = list.filter(isOne).length;
  return {
    value: list.length === 0 ? NaN : count / list.length,
    interval: wilson(count, list.length),
  };
}

/** Wilson 1927, 95 %. */
function wilson(count, total) {
  if (total === 0) return [NaN, NaN];
  const z = 1.959964;
  const p = count / total;
  const middle = p + (z * z) / (2 * total);
  const spread = z * Math.sqrt((p * (1 - p)) / total + (z * z) / (4 * total * total));
  const scale = 1 + (z * z) / total;
  return [(middle - spread) / scale, (middle + spread) / scale];
}

/** Byar's approximation to the exact interval of a Poisson count (Breslow and Day 1987), 95 %. */
function byar(count) {
  const bound = (n, z) => (n <= 0 ? 0 : n * (1 - 1 / (9 * n) + z / (3 * Math.sqrt(n))) ** 3);
  return [bound(count, -1.959964), bound(count + 1, 1.959964)];
}

const isRight = ({ accepted }, { ruleId }) => accepted.includes(ruleId);

/** What counts for F1, of each variant of each program. */
function countGroups(runs) {
  const groups = groupBy(runs, ({ program, variant }) => `${program}/${variant}`);
  return [...groups.values()].map((group) => {
    const isFound = (run) => run.isFault && run.said.some((alert) => isRight(run, alert));
    return {
      faults: group.filter((run) => run.isFault).length,
      found: group.filter(isFound).length,
      wrong: group.filter((run) => run.said.length > 0 && !isFound(run)).length,
    };
  });
}

function sumOf(groups) {
  const sum = { found: 0, faults: 0, wrong: 0 };
  for (const group of groups) for (const name of Object.keys(sum)) sum[name] += group[name];
  return sum;
}

const f1Of = ({ found, faults, wrong }) => f1(found / (found + wrong || 1), found / (faults || 1));

/** 500 resamples of whole variants of programs: runs of one variant are alike, so they are drawn together. */
function bootstrap(runs, measure) {
  const groups = countGroups(runs);
  const random = uniform(1);
  return Array.from({ length: 500 }, () =>
    measure(sumOf(groups.map(() => groups[Math.floor(random() * groups.length)]))),
  );
}

/** The middle 95 %. */
const interval = (values) => [quantile(values, 0.025), quantile(values, 0.975)];

function quantile(list, q) {
  if (list.length === 0) return NaN;
  const sorted = list.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.round(q * (sorted.length - 1)))];
}

/** The items by what `keyOf` gives for them. */
export function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}
