// The tables of the detection benchmark.

const percent = ({ value, interval }) =>
  `${show(value)} [${show(interval[0])}, ${show(interval[1])}]`;
const show = (value) => (Number.isFinite(value) ? value.toFixed(2) : '-');

export function printScores({ left, sets, leads, rules, programs, ablation }) {
  console.log(
    `\nLeft out: ${left.harmless.length} faults that did no harm, ${left.unhealthy.length} variants that were not healthy`,
  );
  for (const [name, judged] of Object.entries(sets)) printTable(name, judged);
  const hasHeldOut = sets['Programs held out'] !== undefined;
  if (hasHeldOut) {
    console.log('\nF1 of Quark above that of others (programs held out)');
    for (const [name, difference] of Object.entries(leads))
      console.log(`  ${name.padEnd(22)} ${percent(difference)}`);
  }
  printTable('By program', programs);
  for (const [name, list] of Object.entries(rules)) {
    console.log(`\nBy rule: ${name}`);
    for (const { ruleId, runs, right, onHealthy, precision, recall } of list)
      console.log(
        `  ${ruleId.padEnd(26)} spoke ${String(runs).padStart(5)}  right ${String(right).padStart(5)}  on healthy ${String(onHealthy).padStart(4)}  precision ${percent(precision)}  recall ${percent(recall)}`,
      );
  }
  if (hasHeldOut) printTable('What the instruments are worth (programs held out)', ablation);
}

const COLUMNS = [
  ['recall', 18, ({ recall }) => percent(recall)],
  ['precision', 18, ({ precision }) => percent(precision)],
  ['F1', 18, ({ f1 }) => percent(f1)],
  ['first cause', 18, ({ firstCause }) => percent(firstCause)],
  ['first layer', 18, ({ firstLayer }) => percent(firstLayer)],
  ['delay', 6, ({ delaySteps }) => String(delaySteps.median)],
  ['90 %', 6, ({ delaySteps }) => String(delaySteps.p90)],
  ['false alarms per 1,000', 22, ({ falseAlarmsPer1000 }) => percent(falseAlarmsPer1000)],
  ['faulty', 6, ({ faultyRuns }) => String(faultyRuns)],
  ['healthy', 7, ({ healthyRuns }) => String(healthyRuns)],
];

function printTable(title, scores) {
  console.log(`\n${title}`);
  console.log(
    `  ${''.padEnd(22)}  ${COLUMNS.map(([name, width]) => name.padEnd(width)).join('  ')}`,
  );
  for (const [name, score] of Object.entries(scores))
    console.log(
      `  ${name.padEnd(22)}  ${COLUMNS.map(([, width, cell]) => cell(score).padEnd(width)).join('  ')}`,
    );
}
