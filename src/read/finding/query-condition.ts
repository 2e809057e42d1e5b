/**
 * The query line: `config.lr < 1e-3 and (val/accuracy.best > 0.9 or tag:baseline) and not status:failed`, read by recursive descent. Words
 * that are no comparison are searched in the names, notes and tags of runs.
 */
import { QuarkError, show } from '../../base/errors.ts';
import { RUN_STATUSES } from '../../records/literals.ts';
import {
  conditionText,
  MAX_CONDITION_CHARS,
  type RunCondition,
} from '../../records/shapes/run-condition.ts';
import { factComparison, ofStatus } from './fact-conditions.ts';
import { fieldNamed, isUnderObject, pathsOf } from './query-paths.ts';
import { QueryLineError, QueryReader, type QueryOperator, type Word } from './query-reader.ts';
import { durationOf, numberOf, plainValue, timeRangeOf } from './query-values.ts';

/** What a query line says, or why it cannot be read. */
export type RunQueryReading =
  | {
      readonly kind: 'query';
      /** As `where` of stores takes it; null for a line without conditions. */
      readonly condition: string | null;
    }
  | {
      readonly kind: 'error';
      readonly message: string;
      /** The first character of what is wrong, and the one after its last. */
      readonly from: number;
      readonly to: number;
      /** What may stand there. */
      readonly expected: readonly string[];
    };

const MAX_DEPTH = 24;
const AFTER_NAME = ['=', '!=', '<', '<=', '>', '>=', '~', 'in', 'and', 'or'];
const OPERAND = ['a condition', 'a word', 'not', 'has', '('];
const OF_OPERATOR: ReadonlyMap<QueryOperator, string> = new Map([
  ['=', 'eq'],
  ['==', 'eq'],
  [':', 'eq'],
  ['!=', 'eq'],
  ['<', 'lt'],
  ['<=', 'lte'],
  ['>', 'gt'],
  ['>=', 'gte'],
]);

/**
 * Reads a query line without throwing: for a field that people type into.
 *
 * @example
 * ```js
 * import { parseRunQuery } from 'quark-sdk/workspace';
 *
 * console.log(parseRunQuery('config.lr < 1e-3 and tag:baseline').kind); // query
 * const reading = parseRunQuery('config.lr < abc'); // never throws
 * if (reading.kind === 'error') console.log(reading.message, reading.from, reading.to, reading.expected);
 * ```
 */
export function parseRunQuery(text: string): RunQueryReading {
  try {
    const [condition] = conditionsOf(text);
    return { kind: 'query', condition: condition === undefined ? null : conditionText(condition) };
  } catch (error) {
    if (!(error instanceof QueryLineError)) throw error;
    const { expected, message, span } = error;
    return { kind: 'error', message, ...span, expected };
  }
}

/** The condition of a line, if it has one. @throws {QuarkError} `invalid_input` with `position`, `end` and `expected` in its details */
export function conditionOfLine(text: string): readonly RunCondition[] {
  try {
    return conditionsOf(text);
  } catch (error) {
    if (!(error instanceof QueryLineError)) throw error;
    const { expected, message, span } = error;
    throw new QuarkError(
      'invalid_input',
      `The query cannot be read at character ${span.from + 1}: ${message}`,
      {
        details: {
          field: 'where',
          rule: `one of: ${expected.join(', ')}`,
          position: span.from,
          end: span.to,
          expected,
        },
      },
    );
  }
}

/** Each of the words somewhere in the texts of a run. */
export function textCondition(text: string): readonly RunCondition[] {
  return text.split(/\s+/u).filter(Boolean).map(wordCondition);
}

function wordCondition(word: string): RunCondition {
  return factComparison('text', 'like', `%${word.toLowerCase()}%`, 'text');
}

function conditionsOf(text: string): readonly RunCondition[] {
  const line = new LineParser(text);
  const condition = line.parse();
  if (condition === undefined) return [];
  if (conditionText(condition).length > MAX_CONDITION_CHARS)
    throw new QueryLineError(
      `The query is too long: its conditions have at most ${MAX_CONDITION_CHARS} characters.`,
      { from: 0, to: text.length },
      ['a shorter query'],
    );
  return [condition];
}

class LineParser {
  readonly #reader: QueryReader;
  readonly #nowMs = Date.now();

  constructor(text: string) {
    this.#reader = new QueryReader(
      text,
      (name) =>
        fieldNamed(name) !== undefined || (isUnderObject(name) && !name.startsWith('metrics.')),
    );
  }

  parse(): RunCondition | undefined {
    if (this.#reader.isAtEnd()) return undefined;
    const condition = this.#or(0);
    if (!this.#reader.isAtEnd()) this.#refuseNext(['and', 'or', 'the end']);
    return condition;
  }

  #or(depth: number): RunCondition {
    const of = [this.#and(depth)];
    while (this.#reader.takesKeyword('or')) of.push(this.#and(depth));
    return joined('or', of);
  }

  #and(depth: number): RunCondition {
    const of = [this.#operand(depth)];
    while (this.#reader.takesKeyword('and') || this.#hasOperand()) of.push(this.#operand(depth));
    return joined('and', of);
  }

  /** Two operands side by side are joined by "and". */
  #hasOperand(): boolean {
    const { at } = this.#reader;
    if (this.#reader.isAtEnd() || this.#reader.next().text === ')') return false;
    const isOr = this.#reader.takesKeyword('or');
    this.#reader.at = at;
    return !isOr;
  }

  #operand(depth: number): RunCondition {
    const reader = this.#reader;
    const start = reader.next();
    if (depth > MAX_DEPTH)
      throw new QueryLineError('The query is nested too deeply.', start, ['fewer parentheses']);
    if (reader.takesKeyword('not')) return { kind: 'not', of: this.#operand(depth + 1) };
    if (reader.takes('(')) {
      const inner = this.#or(depth + 1);
      if (!reader.takes(')')) this.#refuseNext([')', 'and', 'or']);
      return inner;
    }
    if (this.#isHas()) return this.#has();
    const name = reader.takeName();
    if (name === undefined) return this.#refuseNext(OPERAND);
    if (!name.isQuoted && ['and', 'or'].includes(name.text.toLowerCase()))
      throw new QueryLineError(`"${name.text}" joins two conditions.`, name, OPERAND);
    return this.#comparison(name) ?? wordCondition(name.text);
  }

  /** `has` asks for a value where a name follows; elsewhere it is a word. */
  #isHas(): boolean {
    const reader = this.#reader;
    const { at } = reader;
    if (!reader.takesKeyword('has')) return false;
    const isFollowed = !reader.isAtEnd() && /^[^\s<>=!~:()]/u.test(reader.next().text);
    if (!isFollowed) reader.at = at;
    return isFollowed;
  }

  #has(): RunCondition {
    const name = this.#reader.takeName();
    if (name === undefined) return this.#refuseNext(['a name such as config.lr']);
    return joined(
      'or',
      pathsOf(name.text).map((path) => factComparison(path, 'exists', true, 'has')),
    );
  }

  /** The comparison that begins with a name; undefined where the name is a word to search for. */
  #comparison(name: Word): RunCondition | undefined {
    const reader = this.#reader;
    const { at } = reader;
    const isNot = reader.takesKeyword('not');
    if (reader.takesKeyword('in') && reader.next().text.startsWith('(')) {
      const condition = this.#among(name);
      return isNot ? { kind: 'not', of: condition } : condition;
    }
    reader.at = at;
    const operator = reader.takeOperator();
    if (operator === undefined) {
      const { text } = reader.next();
      if (/^[<>=!~]/u.test(text)) this.#refuseNext(AFTER_NAME);
      return undefined;
    }
    const value = reader.takeValue();
    if (value === undefined) return this.#refuseNext([valueOfName(name.text)]);
    const condition = this.#compare(name, operator, value);
    return operator.startsWith('!') ? { kind: 'not', of: condition } : condition;
  }

  #among(name: Word): RunCondition {
    const reader = this.#reader;
    reader.takes('(');
    const of: RunCondition[] = [];
    do {
      const value = reader.takeValue(true);
      if (value === undefined) return this.#refuseNext([valueOfName(name.text)]);
      of.push(this.#compare(name, '=', value));
    } while (reader.takes(','));
    if (!reader.takes(')')) this.#refuseNext([',', ')']);
    return joined('or', of);
  }

  #compare(name: Word, operator: QueryOperator, value: Word): RunCondition {
    return joined(
      'or',
      pathsOf(name.text).map((path) => this.#compareAt(path, name, operator, value)),
    );
  }

  #compareAt(path: string, name: Word, operator: QueryOperator, value: Word): RunCondition {
    const field = fieldNamed(name.text);
    if (operator === '~' || operator === '!~') return contains(path, value.text);
    const kind = OF_OPERATOR.get(operator) ?? 'eq';
    if (path === 'status') return statusCondition(kind, operator, value);
    if (field?.kind === 'time') return this.#timeAt(path, kind, value);
    if (kind !== 'eq') {
      const number = field?.kind === 'duration' ? spanOf(name.text, value) : numberOf(value.text);
      if (field?.kind === 'text' || number === undefined)
        throw new QueryLineError(
          field?.kind === 'text'
            ? `${show(name.text)} is a text; "${operator}" compares numbers.`
            : `"${operator}" compares with a number; got ${show(value.text)}.`,
          field?.kind === 'text' ? name : value,
          field?.kind === 'text' ? ['=', '!=', '~', 'in'] : [valueOfName(name.text)],
        );
      return factComparison(path, kind, number, name.text);
    }
    if (field?.kind === 'duration')
      return factComparison(path, kind, spanOf(name.text, value) ?? value.text, name.text);
    if (operator === ':' && isProse(path)) return contains(path, value.text);
    const plain = value.isQuoted || field?.kind === 'text' ? value.text : plainValue(value.text);
    return factComparison(path, kind, plain, name.text);
  }

  #timeAt(path: string, kind: string, value: Word): RunCondition {
    const range = timeRangeOf(value.text, this.#nowMs) ?? rangeOfNumber(value.text);
    if (range === undefined)
      throw new QueryLineError(`${show(value.text)} is no time.`, value, TIMES);
    const [from, to] = range;
    const compare = (operator: string, ms: number): RunCondition =>
      factComparison(path, operator, ms, path);
    // After a day is after all of it.
    if (kind === 'gt') return compare(to > from ? 'gte' : 'gt', to);
    if (kind === 'lte') return compare(to > from ? 'lt' : 'lte', to);
    if (kind === 'lt' || kind === 'gte') return compare(kind, from);
    return { kind: 'and', of: [compare('gte', from), compare(to > from ? 'lt' : 'lte', to)] };
  }

  #refuseNext(expected: readonly string[]): never {
    const next = this.#reader.next();
    const what = next.text === '' ? 'The query ends here' : `${show(next.text)} does not fit here`;
    throw new QueryLineError(`${what}; expected ${expected.join(', ')}.`, next, expected);
  }
}

const TIMES = ['a day such as 2026-11-01', '7d', 'today', 'yesterday'];

function rangeOfNumber(text: string): readonly [number, number] | undefined {
  const ms = numberOf(text);
  return ms === undefined ? undefined : [ms, ms];
}

/** Milliseconds; a number alone is seconds of `duration`, and milliseconds of `durationMs`. */
function spanOf(name: string, { text }: Word): number | undefined {
  const number = numberOf(text);
  if (number === undefined) return durationOf(text);
  return name === 'duration' ? number * 1_000 : number;
}

function statusCondition(kind: string, operator: string, value: Word): RunCondition {
  const isStatus = RUN_STATUSES.some((one) => one === value.text);
  if (kind !== 'eq' || !isStatus)
    throw new QueryLineError(
      kind === 'eq'
        ? `${show(value.text)} is no status.`
        : `A status is not compared by "${operator}".`,
      value,
      kind === 'eq' ? RUN_STATUSES : ['=', '!=', 'in'],
    );
  return ofStatus({ kind: 'eq', path: 'status', values: [value.text] });
}

/** Whether ":" asks for a part of the text. */
function isProse(path: string): boolean {
  return path === 'name' || path === 'notes' || path === 'description' || path === 'statusReason';
}

/** A pattern where it has a "%"; else a text that is somewhere in the value, whatever the case. */
function contains(path: string, text: string): RunCondition {
  return text.includes('%')
    ? factComparison(path, 'like', text, path)
    : factComparison(path, 'ilike', `%${text}%`, path);
}

function valueOfName(name: string): string {
  const kind = fieldNamed(name)?.kind;
  if (kind === 'duration') return 'a duration such as 10m';
  if (kind === 'time') return 'a time such as 2026-11-01';
  return kind === 'text' ? 'a text' : kind === 'number' ? 'a number' : 'a value';
}

function joined(kind: 'and' | 'or', of: readonly RunCondition[]): RunCondition {
  const [only] = of;
  return of.length === 1 && only !== undefined ? only : { kind, of };
}
