/** Answers about tables of runs, as a page reads them. Values stand in the order of the columns that were asked for. */
import { SessionStoreError } from '../base/errors.ts';
import { RUN_STATUSES } from '../records/literals.ts';
import type {
  FoundColumn,
  FoundGroup,
  FoundRun,
  GroupValue,
  RunFacet,
  RunValue,
  TableAnswer,
  TableQuestion,
} from '../records/run-question.ts';
import type { RunSparkline } from '../store/curves.ts';
import type { FactValue } from '../records/shapes/run-condition.ts';
import { Fields } from './wire.ts';

const COLUMN_KINDS = ['number', 'text', 'flag', 'mixed', 'metric'] as const;

/** The answer to a question. @throws {SessionStoreError} `rejected` when it is none */
export function decodeAnswer(fields: Fields, question: TableQuestion): TableAnswer {
  switch (question.kind) {
    case 'rows': {
      const cursor = fields.get('cursor') === null ? null : fields.text('cursor');
      const rows = fields.list('rows').map((row) => decodeRow(row, question.columns));
      return { kind: 'rows', rows, total: fields.count('total'), cursor };
    }
    case 'ids':
      return { kind: 'ids', ids: fields.texts('ids'), total: fields.count('total') };
    case 'columns': {
      const columns = fields.list('columns').map(decodeColumn);
      return {
        kind: 'columns',
        columns,
        total: fields.count('total'),
        looked: fields.count('looked'),
      };
    }
    case 'facets':
      return { kind: 'facets', facets: fields.list('facets').map(decodeFacet) };
    case 'groups':
      return {
        kind: 'groups',
        groups: fields.list('groups').map(decodeGroup),
        total: fields.count('total'),
      };
  }
}

function decodeRow(value: unknown, columns: readonly string[]): FoundRun {
  const row = new Fields('row', value);
  const status = row.text('status');
  const [values, steps] = [row.list('values'), row.list('steps')];
  return {
    id: row.text('id'),
    project: row.text('project'),
    name: row.get('name') === null ? null : row.text('name'),
    status: RUN_STATUSES.find((one) => one === status) ?? 'failed',
    isLive: row.flag('is_live'),
    startedAtMs: row.number('started_at_ms'),
    endedAtMs: row.numberOrNull('ended_at_ms'),
    updatedAtMs: row.numberOrNull('updated_at_ms'),
    archivedAtMs: row.numberOrNull('archived_at_ms'),
    tags: row.texts('tags'),
    groups: row.texts('groups'),
    values: Object.fromEntries(
      columns.flatMap((path, i): [string, RunValue][] =>
        (values[i] ?? null) === null ? [] : [[path, decodeValue(values[i])]],
      ),
    ),
    steps: Object.fromEntries(
      columns.flatMap((path, i): [string, number][] => {
        const step = steps[i];
        return typeof step === 'number' ? [[path, step]] : [];
      }),
    ),
  };
}

function decodeColumn(value: unknown): FoundColumn {
  const column = new Fields('column', value);
  const kind = COLUMN_KINDS.find((one) => one === column.text('kind'));
  if (kind === undefined) throw oddField('column.kind');
  return {
    path: column.text('path'),
    kind,
    runs: column.count('runs'),
    distinct: column.count('distinct'),
    examples: column.list('examples').map(decodeFact),
  };
}

function decodeFacet(value: unknown): RunFacet {
  const facet = new Fields('facet', value);
  const values = facet.list('values').map((pair) => {
    if (!Array.isArray(pair) || typeof pair[1] !== 'number') throw oddField('facet.values');
    return { value: decodeFact(pair[0]), runs: pair[1] };
  });
  return {
    path: facet.text('path'),
    values,
    more: facet.count('more'),
    missing: facet.count('missing'),
  };
}

function decodeGroup(value: unknown): FoundGroup {
  const group = new Fields('group', value);
  return {
    by: group.list('by').map((one) => (one === null ? null : decodeFact(one))),
    runs: group.count('runs'),
    of: group.list('of').map((one): GroupValue => {
      const sums = new Fields('group.of', one);
      return {
        path: sums.text('path'),
        runs: sums.count('runs'),
        mean: sums.numberOrNull('mean'),
        deviation: sums.numberOrNull('deviation'),
        min: sums.numberOrNull('min'),
        max: sums.numberOrNull('max'),
      };
    }),
  };
}

function decodeValue(value: unknown): RunValue {
  return Array.isArray(value) ? value.map(decodeFact) : decodeFact(value);
}

function decodeFact(value: unknown): FactValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  return Number(new Fields('value', value).text('number'));
}

/** A small curve of an answer. @throws {SessionStoreError} `rejected` when it is none */
export function decodeSparkline(value: unknown): RunSparkline {
  const curve = new Fields('curve', value);
  const axis = curve.text('axis');
  if (axis !== 'step' && axis !== 'time') throw oddField('curve.axis');
  const positions = curve.list('positions').map(Number);
  const values = curve.list('values').map((one) => (one === null ? Number.NaN : Number(one)));
  if (positions.length !== values.length) throw oddField('curve.values');
  const [runId, metricKey] = [curve.text('run_id'), curve.text('metric_key')];
  return { runId, metricKey, axis, positions, values };
}

/** The error of a message whose field is not as the description of the API says. */
export function oddField(field: string): SessionStoreError {
  return new SessionStoreError('rejected', `The message has an odd ${field}.`, {
    details: { field, rule: 'as the description of the API says' },
  });
}
