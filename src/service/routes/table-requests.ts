/** Questions about tables of runs, and their answers, as a service reads and writes them. */
import type { RunValue, TableAnswer, TableQuestion } from '../../records/run-question.ts';
import { oddField } from '../../wire/table-messages.ts';
import { Fields } from '../../wire/wire.ts';

/** A question of a request. What it says is checked by the store. */
export function decodeQuestion(value: unknown): TableQuestion {
  const fields = new Fields('question', value);
  const scope = {
    ...(fields.get('where') === undefined ? {} : { where: fields.text('where') }),
    ...(fields.get('project_name') === undefined
      ? {}
      : { projectName: fields.text('project_name') }),
    ...(fields.get('archived') === undefined ? {} : { archived: fields.flag('archived') }),
  };
  const kind = fields.text('kind');
  const limit = fields.count('limit');
  switch (kind) {
    case 'rows': {
      const orderBy = fields.list('order_by').map((one) => {
        const order = new Fields('question.order_by', one);
        return { path: order.text('path'), isDescending: order.flag('is_descending') };
      });
      const [columns, offset, after] = [
        fields.texts('columns'),
        fields.count('offset'),
        fields.text('after'),
      ];
      return { ...scope, kind, orderBy, columns, limit, offset, after };
    }
    case 'ids':
    case 'columns':
      return { ...scope, kind, limit };
    case 'facets':
      return { ...scope, kind, by: fields.texts('by'), limit };
    case 'groups':
      return { ...scope, kind, by: fields.texts('by'), of: fields.texts('of'), limit };
    default:
      throw oddField('question.kind');
  }
}

/** An answer as JSON. */
export function encodeAnswer(answer: TableAnswer, question: TableQuestion): object {
  switch (answer.kind) {
    case 'rows': {
      const columns = question.kind === 'rows' ? question.columns : [];
      const rows = answer.rows.map(({ values, steps, ...row }) => ({
        ...row,
        values: columns.map((path) =>
          Object.hasOwn(values, path) ? encodeValue(values[path]) : null,
        ),
        steps: columns.map((path) => (Object.hasOwn(steps, path) ? steps[path] : null)),
      }));
      return { ...answer, rows };
    }
    case 'columns': {
      const columns = answer.columns.map((one) => ({
        ...one,
        examples: one.examples.map(encodeValue),
      }));
      return { ...answer, columns };
    }
    case 'facets': {
      const facets = answer.facets.map((facet) => ({
        ...facet,
        values: facet.values.map(({ value, runs }) => [encodeValue(value), runs]),
      }));
      return { ...answer, facets };
    }
    case 'groups': {
      const groups = answer.groups.map((group) => ({ ...group, by: group.by.map(encodeValue) }));
      return { ...answer, groups };
    }
    case 'ids':
      return answer;
  }
}

/** JSON has neither NaN nor infinities. */
function encodeValue(value: RunValue | null | undefined): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'object') return value.map(encodeValue);
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) };
  return value;
}
