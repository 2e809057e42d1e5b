/** A report as one HTML file: plots within it, nothing to fetch, light and dark, no script. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { escapeHtml } from './escape.ts';
import { percentText } from '../text/number-text.ts';
import type { AlertGroup } from '../evaluate/alert-groups.ts';
import { severityCounts, splitInference, type ReportModel } from './report-model.ts';
import { plotSvg } from './report-plot.ts';
import {
  metricRows,
  phaseRows,
  settingRows,
  silencedRows,
  stepsOf,
  type ReportTable,
} from './report-tables.ts';

/** The report as a page. The policy in its head keeps it from loading or running anything, whatever its texts are. */
export function reportHtml(model: ReportModel, kernel: SeriesKernel): string {
  const [first = '', ...rest] = model.verdict;
  const body = [
    `<header><h1>${escapeHtml(model.title)}</h1><p class="verdict ${overallStatus(model)}">${escapeHtml(first)}</p>` +
      `${rest.map((line) => `<p>${escapeHtml(line)}</p>`).join('')}</header>`,
    model.picture === null ? '' : plotSvg(model.picture, kernel),
    alertsHtml(model),
    adviceHtml(model),
    folded('Silenced or acknowledged', codeTable(silencedRows(model))),
    folded('Health', healthHtml(model)),
    folded('Phases', phasesHtml(model)),
    folded('About the run', factsHtml(model)),
    folded('Data', dataHtml(model)),
    folded('Curves', plotsHtml(model, kernel)),
    folded('Metrics', codeTable(metricRows(model))),
    folded('Configuration', codeTable(settingRows(model))),
    `<footer>Written ${escapeHtml(model.generatedAt)}</footer>`,
  ];
  return htmlPage(model.title, body.join('\n'));
}

/** A file that loads and runs nothing, whatever is in `content`, which is HTML. */
export function htmlPage(title: string, content: string): string {
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">` +
    '<meta name="color-scheme" content="light dark">' +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>${content}</main></body></html>\n`
  );
}

/** What a reader opens who wants to know more; nothing where there is none. */
function folded(title: string, content: string): string {
  return content === '' ? '' : `<details><summary><h2>${title}</h2></summary>${content}</details>`;
}

function overallStatus({ healthScores }: ReportModel): string {
  return healthScores.find(({ scoreKey }) => scoreKey === 'overall')?.status ?? 'not_assessed';
}

function adviceHtml({ advice }: ReportModel): string {
  if (advice.length === 0) return '';
  const items = advice.map((line) => `<li>${escapeHtml(line)}</li>`);
  return `<section><h2>What to do</h2><ol class="advice">${items.join('')}</ol></section>`;
}

function factsHtml({ facts }: ReportModel): string {
  const rows = facts.map(
    ([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`,
  );
  return `<dl class="facts">${rows.join('')}</dl>`;
}

function healthHtml({ healthScores }: ReportModel): string {
  if (healthScores.length === 0) return '';
  const cards = healthScores.map(
    ({ score, scoreKey, status, summary }) =>
      `<li class="${status}"><b>${escapeHtml(scoreKey)}</b><span class="score">${score === null ? '–' : Math.round(score)}</span>` +
      `<span class="status">${escapeHtml(status.replace('_', ' '))}</span><small>${escapeHtml(summary)}</small></li>`,
  );
  return `<ul class="health">${cards.join('')}</ul>`;
}

function phasesHtml(model: ReportModel): string {
  const { phases } = model;
  if (phases.length === 0) return '';
  const first = phases[0]?.stepStart ?? 0;
  const whole = Math.max(1, (phases.at(-1)?.stepEnd ?? 0) - first + 1);
  const bar = phases.map(({ displayName, phaseName, stepEnd, stepStart }) => {
    const share = (stepEnd - stepStart + 1) / whole;
    return `<span class="${phaseName}" style="flex-grow:${Math.max(0.002, share).toFixed(4)}" title="${escapeHtml(`${displayName}: ${percentText(share)} of the run`)}"></span>`;
  });
  const chipOf = (row: number): string => `<i class="chip ${phases[row]?.phaseName}"></i>`;
  return `<div class="phases" aria-hidden="true">${bar.join('')}</div>${table(phaseRows(model), (cell, row) => chipOf(row) + cell)}`;
}

function alertsHtml({ alerts, groups }: ReportModel): string {
  if (groups.length === 0) return '';
  const counts = severityCounts(alerts).map(
    ([severity, count]) => `<span class="badge ${severity}">${count} ${severity}</span>`,
  );
  return `<section><h2>What was found ${counts.join(' ')}</h2><ul class="alerts">${groups.map(groupHtml).join('')}</ul></section>`;
}

function groupHtml({ cause, consequences, severity }: AlertGroup): string {
  const { category, fact, ruleId, title } = cause;
  const steps = stepsOf(cause);
  const after = consequences.map(
    (one) =>
      `<li><span class="badge ${one.severity}">${one.severity}</span> ${escapeHtml(one.fact)} <small><code>${escapeHtml(one.ruleId)}</code></small></li>`,
  );
  return (
    `<li class="${severity}"><h3><span class="badge ${severity}">${severity}</span> ${escapeHtml(title)}</h3>` +
    `<p>${escapeHtml(fact)} ${escapeHtml(splitInference(cause).cause)}</p>` +
    (after.length === 0
      ? ''
      : `<p class="hint">What follows from it:</p><ul>${after.join('')}</ul>`) +
    `<small>${escapeHtml(category)} · <code>${escapeHtml(ruleId)}</code>${steps === undefined ? '' : ` · ${steps}`}</small></li>`
  );
}

function dataHtml({ dataTables }: ReportModel): string {
  if (dataTables.length === 0) return '';
  const parts = dataTables.map(
    ({ note, title, ...data }) =>
      `<h3>${escapeHtml(title)}</h3><p class="hint">${escapeHtml(note)}</p>${table(data)}`,
  );
  return parts.join('');
}

function plotsHtml({ plots, unplottedCount }: ReportModel, kernel: SeriesKernel): string {
  if (plots.length === 0) return '';
  const more =
    unplottedCount > 0
      ? `<p class="hint">${unplottedCount} more metrics, some of them without change or of the machine, are in the table below.</p>`
      : '';
  return `<div class="plots">${plots.map((plot) => plotSvg(plot, kernel)).join('')}</div>${more}`;
}

/** A table whose first column is code; nothing for a table without a row. */
function codeTable(content: ReportTable): string {
  return content.rows.length === 0 ? '' : table(content, (cell) => `<code>${cell}</code>`);
}

/** A table; `first` makes something of the text of the first cell of each row. */
function table(
  { columns, rows }: ReportTable,
  first: (cell: string, row: number) => string = (cell) => cell,
): string {
  const kindOf = (i: number): string => (columns[i]?.isNumber === true ? ' class="number"' : '');
  const head = columns.map(({ title }, i) => `<th${kindOf(i)}>${escapeHtml(title)}</th>`);
  const lines = rows.map((cells, row) => {
    const texts = cells.map(escapeHtml).map((cell, i) => (i === 0 ? first(cell, row) : cell));
    return `<tr>${texts.map((text, i) => `<td${kindOf(i)}>${text}</td>`).join('')}</tr>`;
  });
  return `<div class="scroll"><table><thead><tr>${head.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

/** Colours of curves are told apart by those who see no red or green (after Okabe and Ito 2008), and by their dashes. */
const STYLE = `
:root{--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#8a6d00;--c5:#56718a;--good:#1a7f37;--watch:#9a6700;--bad:#bc4c00;--crit:#cf222e;--band:#0000000a}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#30363d;--card:#161b22;--c0:#56b4e9;--c1:#ff9d57;--c2:#3fd0a3;--c3:#e9a6c9;--c4:#f0d64a;--c5:#9fb8cf;--good:#3fb950;--watch:#d29922;--bad:#f0883e;--crit:#f85149;--band:#ffffff10}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}main{max-width:72rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.6rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .6rem}h3{font-size:1rem;margin:0}details>h3{margin:1.2rem 0 .2rem}details>h3+.hint{margin:.2rem 0}.verdict{font-size:1.15rem;font-weight:600;margin:.4rem 0;overflow-wrap:anywhere}.verdict.critical,.verdict.degraded{color:var(--crit)}.verdict.watch{color:var(--watch)}.verdict.not_assessed{color:var(--soft)}details{border-top:1px solid var(--line);padding:.4rem 0}summary{cursor:pointer}summary h2{display:inline;margin:0}.advice{margin:.2rem 0;padding-left:1.4rem}.alerts ul{margin:.2rem 0;padding-left:1.2rem}header+figure{margin-top:1rem}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}.facts dt,.hint,small,footer{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}code{font-family:ui-monospace,monospace;font-size:.9em}
.health,.alerts{list-style:none;margin:0;padding:0;display:grid;gap:.6rem}.health{grid-template-columns:repeat(auto-fit,minmax(11rem,1fr))}.health li,.alerts>li{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--soft);border-radius:6px;padding:.6rem .8rem;display:grid;gap:.2rem}.alerts p{margin:.2rem 0}.score{font-size:1.6rem;font-weight:600}
.health .healthy{border-left-color:var(--good)}.health .watch{border-left-color:var(--watch)}.health .degraded{border-left-color:var(--bad)}.health .critical,.alerts .critical{border-left-color:var(--crit)}.alerts .error{border-left-color:var(--bad)}.alerts .warning{border-left-color:var(--watch)}
.badge{display:inline-block;font-size:.75rem;font-weight:600;padding:0 .5em;border-radius:1em;border:1px solid currentColor;color:var(--soft)}.badge.critical{color:var(--crit)}.badge.error{color:var(--bad)}.badge.warning{color:var(--watch)}
.phases{display:flex;height:1rem;border-radius:4px;overflow:hidden;margin-bottom:.6rem;gap:1px}.chip{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.5em}
.initialization_adaptation{background:var(--c5)}.rapid_learning{background:var(--c2)}.stabilization{background:var(--c0)}.stagnation{background:var(--c4)}.overfitting_onset{background:var(--c1)}.divergence{background:var(--crit)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem}figure{margin:0;border:1px solid var(--line);border-radius:6px;padding:.6rem}figcaption{font-weight:600;overflow-wrap:anywhere}.key{font-weight:400;font-size:.85rem;margin-left:.8rem}.key::before{content:"";display:inline-block;width:1.2em;border-top:2px solid currentColor;margin-right:.3em;vertical-align:middle}
svg{width:100%;height:auto;display:block}text{fill:var(--soft);font-size:13px}text.y{text-anchor:end}text.x{text-anchor:middle}.grid{stroke:var(--line);stroke-dasharray:2 4}.axis{stroke:var(--soft)}line.mark{stroke:var(--crit);stroke-dasharray:4 3}.curve{fill:none;stroke-width:1.5;stroke-linejoin:round}.band.b0 rect{fill:transparent}.band.b1 rect{fill:var(--band)}.nan{fill:var(--crit)}
.s0{color:var(--c0)}.s1{color:var(--c1)}.s2{color:var(--c2)}.s3{color:var(--c3)}.s4{color:var(--c4)}.s5{color:var(--c5)}.curve{stroke:currentColor}.curve.s1{stroke-dasharray:6 2}.curve.s2{stroke-dasharray:2 2}.dot{fill:currentColor}footer{margin:2rem 0}
@media print{.plots{grid-template-columns:1fr 1fr}figure,.alerts>li{break-inside:avoid}}`;
