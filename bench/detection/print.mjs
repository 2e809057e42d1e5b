// The tables of the detection benchmark.

const percent = ({ value, interval }) =>
  `${show(value)} [${show(interval[0])}, ${show(interval[1])}]`;
const show = (value) => (Number.isFinite(value) ? value.toFixed(2) : '-');

export function printScores({ left, sets, rules, ablation }) {
  console.log(
    `\nLeft out: ${left.harmless.length} faults that did no harm, ${left.unhealthy.length} variants that were not healthy`,
  );
  for (const [name, judged] of Object.entries(sets)) {
    console.log(`\n${name}`);
    console.log(
      '  judge                 recall             precision          F1                 first cause  first layer  delay  false/1000  healthy accused',
    );
    for (const [judge, score] of Object.entries(judged)) console.log(line(judge, score));
  }
  console.log('\nBy rule (all programs)');
  for (const { ruleId, runs, right, onHealthy, precision, recall } of rules)
    console.log(
      `  ${ruleId.padEnd(26)} spoke ${String(runs).padStart(5)}  right ${String(right).padStart(5)}  on healthy ${String(onHealthy).padStart(4)}  precision ${show(precision)}  recall ${show(recall)}`,
    );
  console.log('\nWhat the instruments are worth (programs held out)');
  for (const [name, score] of Object.entries(ablation)) console.log(line(name, score));
}

function line(name, score) {
  return `  ${name.padEnd(20)}  ${percent(score.recall)}  ${percent(score.precision)}  ${percent(score.f1)}  ${show(score.firstCause.value).padStart(11)}  ${show(score.firstLayer.value).padStart(11)}  ${String(score.delaySteps.median).padStart(5)}  ${show(score.falseAlarmsPer1000).padStart(10)}  ${show(score.healthyAccused.value).padStart(15)}`;
}
