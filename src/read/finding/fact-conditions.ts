/** Comparisons of the facts of runs, by the names of their operators, and the effective status. */
import { checkLiteral } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { RUN_STATUSES, type RunStatus } from '../../records/literals.ts';
import {
  checkComparison,
  findable,
  type FactValue,
  type RunComparison,
  type RunCondition,
  type RunOperator,
} from '../../records/shapes/run-condition.ts';

/** A comparison by the name of its operator. @throws {QuarkError} `invalid_input` */
export function factComparison(
  path: string,
  operator: string,
  value: unknown,
  field: string,
): RunCondition {
  const found = findable(path);
  const exists: RunComparison = { kind: 'exists', path: found, values: [] };
  switch (operator) {
    case 'ne':
      return { kind: 'not', of: factComparison(path, 'eq', value, field) };
    case 'nin':
      return { kind: 'not', of: factComparison(path, 'in', value, field) };
    case 'exists':
      if (typeof value !== 'boolean') throw invalidInput(field, value, 'true or false');
      return value ? exists : { kind: 'not', of: exists };
    case 'eq':
      if (value === null) return { kind: 'not', of: exists };
      return { kind: 'eq', path: found, values: [checkValue(field, value)] };
    case 'in':
      if (!Array.isArray(value)) throw invalidInput(field, value, 'a list of values');
      return { kind: 'in', path: found, values: value.map((one) => checkValue(field, one)) };
    default: {
      const values = [checkValue(field, value)];
      return checkComparison(field, { kind: operator as RunOperator, path: found, values });
    }
  }
}

function checkValue(field: string, value: unknown): FactValue {
  if (typeof value === 'string') return findable(value);
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
    return value;
  throw invalidInput(field, value, 'text, a finite number, true or false');
}

/**
 * A run that says it is running is so where a session has its lease, and interrupted elsewhere.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function ofStatus(condition: RunCondition): RunCondition {
  if (condition.kind === 'not') return { kind: 'not', of: ofStatus(condition.of) };
  if (condition.kind === 'and' || condition.kind === 'or')
    return { kind: condition.kind, of: condition.of.map(ofStatus) };
  if (condition.kind === 'exists') return condition;
  if (condition.kind !== 'eq' && condition.kind !== 'in')
    throw invalidInput('status', condition.kind, 'compared by eq, ne, in or nin');
  const statuses = condition.values.map((value) => checkLiteral('status', value, RUN_STATUSES));
  return { kind: 'or', of: statuses.map(isEffective) };
}

function isEffective(status: RunStatus): RunCondition {
  const says = (value: RunStatus): RunCondition => ({
    kind: 'eq',
    path: 'status',
    values: [value],
  });
  const isLive: RunCondition = { kind: 'exists', path: 'live', values: [] };
  if (status === 'running') return { kind: 'and', of: [says('running'), isLive] };
  if (status !== 'interrupted') return says(status);
  const isLeft: RunCondition = { kind: 'and', of: [says('running'), { kind: 'not', of: isLive }] };
  return { kind: 'or', of: [says('interrupted'), isLeft] };
}
