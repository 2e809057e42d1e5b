// From what was said of each run to precision, recall, causes, layers, delay and false alarms, with their intervals.
import { uniform } from './random.mjs';

/**
 * A judged run: `{ program, variant, seed, isFault, accepted, causes, layer, from, steps, said }`, `said` being the alerts in the
 * order of their importance: `{ ruleId, step, layer }`.
 */
export function score(runs) {
  const faults = runs.filter(({ isFault }) => isFault);
  const healthy = runs.filter(({ isFault }) => !isFault);
  const isRight = ({ accepted }, { ruleId }) => accepted.includes(ruleId);
  const found = faults.filter((run) => run.said.some((alert) => isRight(run, alert)));
  const wronglyAccused = runs.filter(
    (run) => run.said.length > 0 && !(run.isFault && run.said.some((alert) => isRight(run, alert))),
  );
  const precision = found.length / (found.length + wronglyAccused.length);
  const recall = found.length / faults.length;
  const withLayer = found.filter(
    ({ layer, said }) => layer !== null && said.some((alert) => alert.layer),
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
    f1: { value: f1(precision, recall), interval: bootstrapF1(runs, isRight) },
    firstCause: share(found, (run) => run.causes.includes(run.said[0].ruleId)),
    firstLayer: share(
      withLayer,
      ({ layer, said }) => said.find((alert) => alert.layer).layer === layer,
    ),
    delaySteps: { median: quantile(delays, 0.5), p90: quantile(delays, 0.9) },
    falseAlarmsPer1000: (1000 * falseAlarms) / healthySteps,
    healthyAccused: share(healthy, ({ said }) => said.length > 0),
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
      return { ...entry, precision, recall, f1: f1(precision, recall) };
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

/** 95 % of 500 resamples of whole programs' variants: runs of one variant are alike, so they are drawn together. */
function bootstrapF1(runs, isRight) {
  const groups = [...groupBy(runs, ({ program, variant }) => `${program}/${variant}`).values()].map(
    (group) => {
      const counts = { found: 0, faults: 0, wrong: 0 };
      for (const run of group) {
        const isFound = run.isFault && run.said.some((alert) => isRight(run, alert));
        counts.faults += run.isFault ? 1 : 0;
        counts.found += isFound ? 1 : 0;
        counts.wrong += !isFound && run.said.length > 0 ? 1 : 0;
      }
      return counts;
    },
  );
  const random = uniform(1);
  const values = Array.from({ length: 500 }, () => {
    const sum = { found: 0, faults: 0, wrong: 0 };
    for (let i = 0; i < groups.length; i += 1) {
      const { found, faults, wrong } = groups[Math.floor(random() * groups.length)];
      sum.found += found;
      sum.faults += faults;
      sum.wrong += wrong;
    }
    return f1(sum.found / (sum.found + sum.wrong || 1), sum.found / (sum.faults || 1));
  });
  return [quantile(values, 0.025), quantile(values, 0.975)];
}

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
