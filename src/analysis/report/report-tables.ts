/** The tables of a report, before they are Markdown or HTML. */
import type { HardBatchTable } from '../batches/tabulate.ts';
import { shortText } from '../text/number-text.ts';
import { saySilence } from '../alerts/silences.ts';
import type { ReportModel } from './report-model.ts';

/** A table of text. */
export type ReportTable = Pick<HardBatchTable, 'columns' | 'rows'>;

/** Columns from their titles; those from one position on to before another hold numbers. */
function columnsOf(titles: readonly string[], from = 0, to = 0): ReportTable['columns'] {
  return titles.map((title, i) => ({ title, isNumber: i >= from && i < to }));
}

/** The scores, a row each. */
export function healthRows({ healthScores }: ReportModel): ReportTable {
  return {
    columns: columnsOf(['Score', 'of 100', 'Status', '']),
    rows: healthScores.map(({ score, scoreKey, status, summary }) => [
      scoreKey,
      score === null ? '–' : String(Math.round(score)),
      status.replace('_', ' '),
      summary,
    ]),
  };
}

/** The phases, a row each. */
export function phaseRows({ phaseAxis, phases }: ReportModel): ReportTable {
  return {
    columns: columnsOf(['Phase', `From ${phaseAxis}`, `To ${phaseAxis}`, 'Why'], 1, 3),
    rows: phases.map(({ displayName, stepEnd, stepStart, summary }) => [
      displayName,
      String(stepStart),
      String(stepEnd),
      summary,
    ]),
  };
}

const METRIC_TITLES = ['Metric', 'Values', 'Not finite', 'First', 'Last', 'Lowest', 'Highest'];

/** The metrics, a row each. */
export function metricRows({ metrics }: ReportModel): ReportTable {
  return {
    columns: columnsOf([...METRIC_TITLES, 'Best', 'at'], 1, 9),
    rows: metrics.map((one) => [
      one.key,
      String(one.count),
      String(one.nonFiniteCount),
      ...[one.first, one.last, one.min, one.max, one.best].map(shortText),
      one.bestAt === null ? '–' : `${one.axis} ${one.bestAt}`,
    ]),
  };
}

/** The configuration, a row for each setting. */
export function settingRows({ settings }: ReportModel): ReportTable {
  return {
    columns: columnsOf(['Setting', 'Value']),
    rows: settings.map(([path, value]) => [
      path,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  };
}

/** The steps of an alert: `step 3`, `step 3 to 9`; undefined without any. */
export function stepsOf({ stepEnd, stepStart }: ReportModel['alerts'][number]): string | undefined {
  if (stepStart === null) return undefined;
  return stepEnd === null || stepEnd === stepStart
    ? `step ${stepStart}`
    : `step ${stepStart} to ${stepEnd}`;
}

/** Alerts that were silenced or acknowledged, and what was said. */
export function silencedRows({ silenced }: ReportModel): ReportTable {
  return {
    columns: columnsOf(['Rule', 'Alert', 'Said']),
    rows: silenced.map(({ alert, silence }) => [alert.ruleId, alert.title, saySilence(silence)]),
  };
}
