/** Rows of a table over HTTP: the segments that may match are opened here, and one stream comes out. */
import { invalidInput } from '../../base/errors.ts';
import { checkPosition } from '../../read/filters.ts';
import { streamOf } from '../../wire/body.ts';
import { ARROW_MEDIA_TYPE, JSON_LINES_MEDIA_TYPE, MAX_ROW_LIMIT } from '../../wire/protocol.ts';
import { ROUTES } from '../../wire/routes.ts';
import { HEADERS, signalOf } from '../http/answers.ts';
import { readQuery } from '../http/router.ts';
import type { StoreAsked, StoreRouteParts } from './store-routes.ts';
import type { RowsQuery } from '../jobs/job.ts';
import { LOCAL_COMPUTE, partsOf } from '../jobs/jobs.ts';
import { tableOf } from '../jobs/row-chunks.ts';
import { requireRun } from './run-routes.ts';

const NAME = 'GET /runs/:runId/tables/:table/rows';
type Name = typeof NAME;

/** The rows of a table that match, as one stream. */
export async function readRows(
  asked: StoreAsked<Name>,
  { onFailure }: StoreRouteParts,
): Promise<Response> {
  const { context, scope } = asked;
  const { store, takeRoom, compute = LOCAL_COMPUTE } = scope;
  const query = queryOf(asked);
  await requireRun(store, query.runId);
  const headers = {
    ...HEADERS,
    'cache-control': 'no-store',
    'content-type': query.format === 'arrow' ? ARROW_MEDIA_TYPE : JSON_LINES_MEDIA_TYPE,
  };
  if (context.req.method === 'HEAD') return new Response(null, { headers });
  const signal = signalOf(context);
  const chunks = partsOf(compute.start({ name: 'rows', query }, { store, takeRoom, signal }));
  // What is wrong from the start is an error with a status.
  const first = await chunks.next();
  return new Response(streamOf(first, chunks, onFailure), { headers });
}

function queryOf({ context, params }: StoreAsked<Name>): RowsQuery {
  const table = tableOf(params.table);
  // By their names on the wire: columns of keys are parameters, too.
  const keys = new Map(
    Object.entries(table.columns).flatMap(([field, { kind }]) =>
      kind === 'key' && field !== 'runId' ? [[table.storedNames.get(field) ?? field, field]] : [],
    ),
  );
  const rules = ROUTES[NAME].query;
  const { query, others } = readQuery(context.req.queries(), rules, [...keys.keys()]);
  const conditions = Object.fromEntries(
    [...others].map(([name, value]) => [keys.get(name), value]),
  );
  const { format = 'arrow', damaged = 'fail', limit, ...position } = query;
  if (limit !== undefined && limit > MAX_ROW_LIMIT)
    throw invalidInput(
      'limit',
      limit,
      `at most ${MAX_ROW_LIMIT}; without a limit, all rows come as they are read`,
    );
  checkPosition(position, []);
  const skipsDamage = damaged === 'skip';
  return {
    table: table.table,
    runId: params.runId,
    format,
    position,
    conditions,
    limit,
    skipsDamage,
  };
}
