/** What a written report is: blocks of text, charts and tables of runs. Charts and tables are queries, or frozen with what they showed. */
import { invalidInput } from '../base/errors.ts';
import { checkLabel } from '../base/names.ts';

/** Bounds of a report. All of it is one document: at most 256 KiB. */
export const REPORT_LIMITS = {
  blocks: 200,
  textChars: 100_000,
  queryChars: 2000,
  columns: 12,
  runs: 50,
  curves: 12,
  points: 400,
} as const;

/** A curve of a frozen chart. NaN is not stored: what is not finite is left out. */
export type ReportCurve = {
  readonly label: string;
  readonly steps: readonly number[];
  readonly values: readonly number[];
};

/** A frozen table of runs: titles, and a row of texts for each run. */
export type ReportRows = {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

/** A part of a report. `where` is a query over runs, as `findRunRows` takes it. */
export type ReportBlock =
  | { readonly kind: 'text'; /** Markdown. */ readonly text: string }
  | {
      readonly kind: 'chart';
      readonly metric: string;
      readonly where: string;
      /** What the chart shows from now on; undefined for one that stays live. */
      readonly frozen?: readonly ReportCurve[] | undefined;
    }
  | {
      readonly kind: 'runs';
      readonly where: string;
      /** Paths of values, such as `config.lr` or `metrics.val/loss.best`. */
      readonly columns: readonly string[];
      /** What the table shows from now on; undefined for one that stays live. */
      readonly frozen?: ReportRows | undefined;
    };

/** A report as people write it. */
export type WrittenReport = { readonly title: string; readonly blocks: readonly ReportBlock[] };

/**
 * Checks a report of which nothing is known, such as parsed JSON; what a report does not have is left out.
 *
 * @throws {QuarkError} `invalid_input` naming the field, such as `report.blocks[2].metric`
 *
 * @example
 * ```js
 * import { checkReport } from 'quark-sdk/workspace';
 *
 * const { title, blocks } = checkReport({ title: 'Rates', blocks: [{ kind: 'text', text: 'Small ones *win*.' }] });
 * console.log(title, blocks.length); // Rates 1
 * try {
 *   checkReport({ title: 'Rates', blocks: [{ kind: 'chart', where: '' }] });
 * } catch (error) {
 *   console.log(error.details.field); // report.blocks[0].metric
 * }
 * ```
 */
export function checkReport(value: unknown): WrittenReport {
  const { blocks, title } = objectOf('report', value);
  if (!Array.isArray(blocks) || blocks.length > REPORT_LIMITS.blocks)
    throw invalidInput('report.blocks', blocks, `a list of at most ${REPORT_LIMITS.blocks}`);
  return {
    title: checkLabel('report.title', title),
    blocks: blocks.map((one: unknown, at) => blockOf(`report.blocks[${at}]`, one)),
  };
}

function blockOf(field: string, value: unknown): ReportBlock {
  const { columns, frozen, kind, metric, text, where } = objectOf(field, value);
  if (kind === 'text')
    return { kind, text: textOf(`${field}.text`, text, REPORT_LIMITS.textChars) };
  if (kind !== 'chart' && kind !== 'runs')
    throw invalidInput(`${field}.kind`, kind, 'text, chart or runs');
  const query = textOf(`${field}.where`, where, REPORT_LIMITS.queryChars);
  if (kind === 'chart')
    return {
      kind,
      where: query,
      metric: textOf(`${field}.metric`, metric, REPORT_LIMITS.queryChars),
      ...(frozen !== undefined && {
        frozen: listOf(`${field}.frozen`, frozen, REPORT_LIMITS.curves, curveOf),
      }),
    };
  return {
    kind,
    where: query,
    columns: listOf(`${field}.columns`, columns, REPORT_LIMITS.columns, cellOf),
    ...(frozen !== undefined && { frozen: rowsOf(`${field}.frozen`, frozen) }),
  };
}

function curveOf(field: string, value: unknown): ReportCurve {
  const { label, steps, values } = objectOf(field, value);
  const curve = {
    label: cellOf(`${field}.label`, label),
    steps: listOf(`${field}.steps`, steps, REPORT_LIMITS.points, numberOf),
    values: listOf(`${field}.values`, values, REPORT_LIMITS.points, numberOf),
  };
  if (curve.steps.length !== curve.values.length)
    throw invalidInput(`${field}.values`, curve.values.length, 'as many as there are steps');
  return curve;
}

function rowsOf(field: string, value: unknown): ReportRows {
  const { rows, titles } = objectOf(field, value);
  const most = REPORT_LIMITS.columns + 1;
  return {
    titles: listOf(`${field}.titles`, titles, most, cellOf),
    rows: listOf(`${field}.rows`, rows, REPORT_LIMITS.runs, (at, row) =>
      listOf(at, row, most, cellOf),
    ),
  };
}

function listOf<T>(
  field: string,
  value: unknown,
  most: number,
  read: (field: string, value: unknown) => T,
): readonly T[] {
  if (!Array.isArray(value) || value.length > most)
    throw invalidInput(field, value, `a list of at most ${most}`);
  return value.map((one: unknown, at) => read(`${field}[${at}]`, one));
}

const cellOf = (field: string, value: unknown): string =>
  textOf(field, value, REPORT_LIMITS.queryChars);

function numberOf(field: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidInput(field, value, 'a finite number');
  return value;
}

function textOf(field: string, value: unknown, most: number): string {
  if (typeof value !== 'string' || value.length > most)
    throw invalidInput(field, value, `text of at most ${most} characters`);
  return value;
}

function objectOf(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidInput(field, value, 'an object');
  return Object.fromEntries(Object.entries(value));
}
