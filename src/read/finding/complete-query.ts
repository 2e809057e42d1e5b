/** What may be typed next in a query line. */
import { RUN_STATUSES } from '../../records/literals.ts';
import type { FactValue } from '../../records/shapes/run-condition.ts';
import type { FoundColumn } from '../../records/run-question.ts';
import { fieldNamed, isUnderObject, pathsOf, RUN_FIELDS } from './query-paths.ts';
import { QueryLineError, QueryReader, type Word } from './query-reader.ts';

/** A text that may be inserted. */
export type QuerySuggestion = {
  /** What is inserted. */
  readonly text: string;
  /** What is shown. */
  readonly label: string;
  readonly kind: 'field' | 'operator' | 'value' | 'keyword';
  /** What it is, in a few words. */
  readonly detail: string;
};

/** Suggestions, and what they replace: the characters from `from` up to `to`. */
export type QueryCompletion = {
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly QuerySuggestion[];
};

const MAX_SUGGESTIONS = 40;
const PLAIN_NAME = /^[^\s<>=!~()"',:]+$/u;
const PLAIN_VALUE = /^[^\s"'(),]+$/u;
const STATISTICS: readonly (readonly [statistic: string, detail: string])[] = [
  ['last', 'Last value'],
  ['best', 'Best value'],
  ['min', 'Smallest value'],
  ['max', 'Largest value'],
];
const OPERATORS: readonly (readonly [sign: string, detail: string])[] = [
  ['=', 'equal'],
  ['!=', 'not equal, or without a value'],
  ['<', 'less'],
  ['<=', 'less or equal'],
  ['>', 'greater'],
  ['>=', 'greater or equal'],
  ['~', 'contains'],
  ['in', 'one of several'],
];

/**
 * Suggestions at a position of a query line.
 *
 * @param text all of the line
 * @param caret characters before the position
 * @param columns of the runs that the line is about: see `findRunColumns`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { completeRunQuery, findRunColumns } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store, config: { lr: 0.1 } }, () => {});
 * const { columns } = await findRunColumns(store);
 * const { from, to, suggestions } = completeRunQuery('config.l', 8, columns);
 * console.log('config.l'.slice(0, from) + suggestions[0].text + 'config.l'.slice(to)); // config.lr
 * ```
 */
export function completeRunQuery(
  text: string,
  caret: number,
  columns: readonly FoundColumn[],
): QueryCompletion {
  const position = Math.min(Math.max(0, caret), text.length);
  const { word, state, name } = contextOf(text.slice(0, position));
  const from = word?.from ?? position;
  const typed = (word?.text ?? '').toLowerCase();
  const all =
    state === 'operand'
      ? operands(columns)
      : state === 'operator'
        ? operatorsOf(name)
        : state === 'value'
          ? valuesOf(name, columns)
          : JOINTS;
  return { from, to: position, suggestions: matching(all, typed).slice(0, MAX_SUGGESTIONS) };
}

/** What is expected at the end of a text: an operand, the operator after a name, a value, or `and` and `or`. */
type Context = {
  readonly state: 'operand' | 'operator' | 'value' | 'joint';
  /** What is typed of it already. */
  readonly word?: Word;
  /** The name before. */
  readonly name: string;
};

function contextOf(before: string): Context {
  const reader = new QueryReader(
    before,
    (name) =>
      fieldNamed(name) !== undefined || (isUnderObject(name) && !name.startsWith('metrics.')),
  );
  const isTouched = (): boolean => reader.at >= before.length;
  try {
    for (;;) {
      if (reader.isAtEnd()) return { state: 'operand', name: '' };
      if (reader.takes('(') || reader.takes(')') || reader.takes(',')) continue;
      const word = reader.takeName();
      if (word === undefined) {
        reader.at++;
        continue;
      }
      if (isTouched()) return { state: 'operand', word, name: '' };
      if (['and', 'or', 'not', 'has'].includes(word.text.toLowerCase())) continue;
      const next = afterName(reader, word.text, isTouched);
      if (next !== undefined) return next;
    }
  } catch (error) {
    if (error instanceof QueryLineError) return { state: 'joint', name: '' };
    throw error;
  }
}

/** What is expected after a name; undefined where the text goes on after the whole comparison. */
function afterName(
  reader: QueryReader,
  name: string,
  isTouched: () => boolean,
): Context | undefined {
  if (reader.isAtEnd()) return { state: 'operator', name };
  const isList = reader.takesKeyword('in') && reader.takes('(');
  if (!isList && reader.takeOperator() === undefined) return partOfOperator(reader, name);
  do {
    if (reader.isAtEnd()) return { state: 'value', name };
    const word = reader.takeValue(isList);
    if (word !== undefined && isTouched()) return { state: 'value', word, name };
  } while (reader.takes(','));
  if (isList) reader.takes(')');
  return reader.isAtEnd() ? { state: 'joint', name } : undefined;
}

/** A word after a name may become `in`, `and` or `or`. */
function partOfOperator(reader: QueryReader, name: string): Context | undefined {
  const { at } = reader;
  const word = reader.takeName();
  if (word !== undefined && reader.at >= reader.text.length)
    return { state: 'operator', word, name };
  reader.at = at;
  return undefined;
}

const JOINTS: readonly QuerySuggestion[] = [
  { text: 'and ', label: 'and', kind: 'keyword', detail: 'Both have to hold' },
  { text: 'or ', label: 'or', kind: 'keyword', detail: 'One has to hold' },
];

function operands(columns: readonly FoundColumn[]): readonly QuerySuggestion[] {
  const known = columns.flatMap(({ path, kind, runs, distinct }) => {
    const detail = `${runs} runs, ${distinct} values`;
    if (kind !== 'metric') return fieldNamed(path) === undefined ? [fieldOf(path, detail)] : [];
    const key = path.slice('metrics.'.length);
    return STATISTICS.map(([statistic, what]) => fieldOf(`${key}.${statistic}`, what));
  });
  const fields = RUN_FIELDS.map(({ path, names, detail }) => fieldOf(names?.[0] ?? path, detail));
  const keywords = ['not', 'has'].map((text): QuerySuggestion => ({
    text: `${text} `,
    label: text,
    kind: 'keyword',
    detail: text === 'not' ? 'What follows must not hold' : 'There is a value',
  }));
  return [...fields.slice(0, 4), ...known, ...fields.slice(4), ...keywords];
}

function fieldOf(path: string, detail: string): QuerySuggestion {
  return { text: `${nameText(path)} `, label: path, kind: 'field', detail };
}

/** A name as it is typed: in quotes where it has characters that end names. */
function nameText(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/gu, (character) => `\\${character}`)}"`;
}

function operatorsOf(name: string): readonly QuerySuggestion[] {
  const field = fieldNamed(name);
  const fits = (sign: string): boolean => {
    if (sign.startsWith('<') || sign.startsWith('>')) return field?.kind !== 'text';
    return sign !== '~' || field === undefined || field.kind === 'text';
  };
  return [
    ...OPERATORS.filter(([sign]) => fits(sign)).map(([sign, detail]): QuerySuggestion => ({
      text: sign === 'in' ? 'in (' : `${sign} `,
      label: sign,
      kind: 'operator',
      detail,
    })),
    ...JOINTS,
  ];
}

function valuesOf(name: string, columns: readonly FoundColumn[]): readonly QuerySuggestion[] {
  const field = fieldNamed(name);
  if (field?.path === 'status') return RUN_STATUSES.map((one) => valueOf(one, 'Status'));
  if (field?.kind === 'time')
    return ['today', 'yesterday', '7d', '30d'].map((one) => valueOf(one, 'Time'));
  if (field?.kind === 'duration') return ['10m', '1h', '1d'].map((one) => valueOf(one, 'Duration'));
  const paths = new Set(pathsOf(name).map((path) => path.replace(/^(metrics\..+)\.\w+$/u, '$1')));
  return columns
    .filter(({ path }) => paths.has(path))
    .flatMap(({ examples }) => examples.map((one) => valueOf(one, 'Value')));
}

function valueOf(value: FactValue, detail: string): QuerySuggestion {
  const plain = String(value);
  // A text that reads as a number or as true is told from one by quotes.
  const isPlain =
    typeof value !== 'string' || (PLAIN_VALUE.test(plain) && Number.isNaN(Number(plain)));
  return { text: `${isPlain ? plain : quoted(plain)} `, label: plain, kind: 'value', detail };
}

/** What begins with the typed text first, then what has it somewhere. */
function matching(all: readonly QuerySuggestion[], typed: string): readonly QuerySuggestion[] {
  if (typed === '') return all;
  const begins = all.filter(({ label }) => label.toLowerCase().startsWith(typed));
  const has = all.filter(
    ({ label }) => !label.toLowerCase().startsWith(typed) && label.toLowerCase().includes(typed),
  );
  return [...begins, ...has];
}
