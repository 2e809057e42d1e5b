/** What is said of calls that other libraries would take: each error names the call that is right. */
import { checkOptionNames } from '../base/assert.ts';
import { invalidInput, QuarkError, show } from '../base/errors.ts';

/** The error of a value that is no number, with how to get one from it. */
export function badValue(key: string, value: unknown, isFiniteOnly: boolean): QuarkError {
  const rule = isFiniteOnly ? 'a finite number' : 'a number';
  return invalidInput(`value of ${key}`, value, `${rule}${adviceOn(value)}`);
}

function adviceOn(value: unknown): string {
  if (typeof value === 'number') return ' (or record it with nonFinite: "store")';
  if (typeof value === 'string' || typeof value === 'bigint') return ' (Number() makes one of it)';
  if (typeof value !== 'object' || value === null) return '';
  if ('then' in value) return ' (await the promise first)';
  if ('dataSync' in value) return ' (read the tensor first: (await tensor.data())[0])';
  if ('dims' in value) return ' (read the tensor first: tensor.data[0])';
  if (Symbol.iterator in value) return ' (logColumns() takes many of one metric)';
  return ' (one metric each, with names such as "train/loss")';
}

/** The error of a first argument that is no name. */
export function badName(metric: unknown): QuarkError {
  const rule =
    typeof metric === 'object' && metric !== null
      ? 'the name of one metric; logMany() takes { loss: 0.5, acc: 0.9 }'
      : 'the name of one metric, as in log("loss", 0.5, { step: 10 })';
  return invalidInput('metric', metric, rule);
}

/** @throws {QuarkError} `invalid_input` for a step where options belong, and for arguments in another order */
export function checkMetricOptions(options: unknown, metric: unknown = ''): void {
  if (options === undefined || options === null || typeof options === 'object') return;
  if (typeof metric !== 'string') throw badName(metric);
  const example = Number.isInteger(options) ? show(options) : '10';
  throw invalidInput('options', options, `an object, such as { step: ${example} }`);
}

/** The error of a sample without a position, or that of a misspelt one. */
export function needsPosition(
  key: string,
  options: object | null | undefined,
  known: readonly string[],
): QuarkError {
  checkOptionNames('options', options ?? {}, known);
  return invalidInput(
    'step',
    undefined,
    `given, or epoch, for "${key}", as in { step: 10 }: every metric belongs to a step or an epoch, unless position is "none". session.setStep() gives one to all that follow`,
  );
}

/** @throws {QuarkError} `invalid_input` unless `values` is an object of metrics */
export function checkMetricValues(values: unknown): void {
  // A Map or an array would pass for an object without metrics, or with metrics called 0, 1, 2.
  if (typeof values === 'object' && values !== null && !(Symbol.iterator in values)) return;
  const advice =
    typeof values === 'string' ? '; log("loss", 0.5, { step: 10 }) takes one metric' : '';
  throw invalidInput('values', values, `a plain object of metric names and numbers${advice}`);
}

/** The error of calling on a session what a logger has. */
export function noMetricsOfSession(name: 'log' | 'logMany'): QuarkError {
  const example =
    name === 'log' ? '"loss", 0.5, { step: 10 }' : '{ loss: 0.5, acc: 0.9 }, { step: 10 }';
  const rule = `called on a logger: new MetricsLogger(session).${name}(${example}). addLog() records a message`;
  return new QuarkError('invalid_input', `session.${name}() must be ${rule}.`, {
    details: { field: `session.${name}`, rule },
  });
}
