// Which faults hurt, and which odd variants do not: judged by the outcome on clean validation data, never by what any rule says.
import { median } from '../harness.mjs';

/** The least effect that counts: accuracy lost, factor of the validation loss, of the time a step, tensors left over. */
const LEAST = { accuracy: 0.03, loss: 1.25, time: 1.3, tensors: 100 };

/** One-sided level of the rank test. */
const LEVEL = 0.05;

/**
 * @param healthy outcomes of the unchanged program, one a seed
 * @param changed outcomes of the variant
 * @param harm 'metric', 'time', 'memory', or 'declared' for what makes figures look better than they are
 */
export function hurts(healthy, changed, harm) {
  if (harm === 'declared') return true;
  if (harm === 'memory')
    return (
      median(changed.map(({ leaked }) => leaked)) - median(healthy.map(({ leaked }) => leaked)) >=
      LEAST.tensors
    );
  if (harm === 'time')
    return isWorse(
      values(healthy, 'stepMs'),
      values(changed, 'stepMs'),
      (a, b) => b / a >= LEAST.time,
    );
  if (healthy[0].valAccuracy !== null)
    return isWorse(
      healthy.map(({ valAccuracy }) => -valAccuracy),
      changed.map(({ valAccuracy }) => -valAccuracy),
      (a, b) => b - a >= LEAST.accuracy,
    );
  return isWorse(
    values(healthy, 'valLoss'),
    values(changed, 'valLoss'),
    (a, b) => b / a >= LEAST.loss,
  );
}

// JSON has no NaN and no infinity: both are as bad as it gets.
const values = (outcomes, name) => outcomes.map((outcome) => outcome[name] ?? Infinity);

function isWorse(before, after, isEnough) {
  return isEnough(median(before), median(after)) && rankTest(before, after) < LEVEL;
}

/** Mann and Whitney 1947: chance of so many larger values in `after`, by counting for few, else by the normal approximation. */
function rankTest(before, after) {
  let larger = 0;
  for (const b of after) for (const a of before) larger += b > a ? 1 : b === a ? 0.5 : 0;
  const [n, m] = [before.length, after.length];
  if (n + m <= 20) return chanceOfAtLeast(larger, n, m);
  const z = (larger - 0.5 - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
  return upperTail(z);
}

/** Share of all orders of n and m values in which at least `larger` pairs have the second one larger. */
function chanceOfAtLeast(larger, n, m) {
  // ways[i][j][u]: orders of i and j values with u such pairs.
  const memo = new Map();
  const ways = (i, j, u) => {
    if (u < 0) return 0;
    if (i === 0 || j === 0) return u === 0 ? 1 : 0;
    const key = (i * 64 + j) * 1024 + u;
    if (!memo.has(key)) memo.set(key, ways(i, j - 1, u - i) + ways(i - 1, j, u));
    return memo.get(key);
  };
  let all = 0;
  let extreme = 0;
  for (let u = 0; u <= n * m; u += 1) {
    all += ways(n, m, u);
    if (u >= larger) extreme += ways(n, m, u);
  }
  return extreme / all;
}

/** Abramowitz and Stegun 1964, 7.1.26: error below 1.5e-7. */
function upperTail(z) {
  const t = 1 / (1 + (0.3275911 * Math.abs(z)) / Math.SQRT2);
  const poly =
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const half = 0.5 * poly * Math.exp((-z * z) / 2);
  return z >= 0 ? half : 1 - half;
}
