/** The routes of tables of runs: part of the table in `routes.ts`. */
import { count, json, jsonOf, number, question, read, text, type Route } from './route-parts.ts';
import { list, object, type Schema } from './schemas.ts';

const flag: Schema = { type: 'boolean' };

const asked = object(
  {
    kind: { enum: ['rows', 'ids', 'columns', 'facets', 'groups'] },
    where: { ...text, description: 'A condition as JSON, as `where` of `GET /runs`.' },
    project_name: text,
    archived: { ...flag, description: 'Only archived runs, or only the others.' },
    limit: count,
    order_by: list(object({ path: text, is_descending: flag })),
    columns: { ...list(text), description: 'Paths of values, such as `config.lr`; at most 64.' },
    offset: count,
    after: { ...text, description: '`cursor` of the page before; empty for none.' },
    by: list(text),
    of: list(text),
  },
  ['where', 'project_name', 'archived', 'order_by', 'columns', 'offset', 'after', 'by', 'of'],
);

const answer: Schema = {
  ...object(
    {
      kind: text,
      rows: list({ type: 'object' }),
      ids: list(text),
      columns: list({ type: 'object' }),
      facets: list({ type: 'object' }),
      groups: list({ type: 'object' }),
      total: count,
      looked: count,
      cursor: { type: ['string', 'null'] },
    },
    ['rows', 'ids', 'columns', 'facets', 'groups', 'total', 'looked', 'cursor'],
  ),
  description: 'What was asked for by `kind`; `values` of rows stand in the order of `columns`.',
};

const curve = object({
  run_id: text,
  metric_key: text,
  axis: {
    enum: ['step', 'time'],
    description: 'What `positions` are: instants of a metric without steps.',
  },
  positions: list(number),
  values: {
    ...list({ type: ['number', 'null'] }),
    description: 'As many as positions; null for what is not finite.',
  },
});

/** See the top of this file. */
export const TABLE_ROUTES = {
  'POST /tables/runs': read(
    'postTablesRuns',
    'Runs as a table: rows in an order, ids, columns, how often values are there, or means by group; changes nothing',
    jsonOf(answer),
    { body: question(json({ question: asked })) },
  ),
  'POST /tables/curves': read(
    'postTablesCurves',
    'Small curves of many runs: one metric of each in a few points; runs without it are left out; changes nothing',
    jsonOf(object({ curves: list(curve) })),
    {
      body: question(
        jsonOf(
          object(
            {
              run_ids: { ...list(text), description: 'At most 200.' },
              metric_key: { ...text, description: 'The loss of each run unless given.' },
              points: { ...count, description: '4 to 512 of each curve, about; 64 unless given.' },
            },
            ['metric_key', 'points'],
          ),
        ),
      ),
    },
  ),
} as const satisfies Readonly<Record<string, Route>>;
