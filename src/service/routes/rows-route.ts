/** Rows of a table over HTTP: the segments that may match are opened here, and one stream comes out. */
import type { Hono } from 'hono';
import { checkCount, checkLiteral, checkPositive } from '../../base/assert.ts';
import { invalidInput, RunNotFoundError } from '../../base/errors.ts';
import { checkPosition, type PositionFilter } from '../../read/filters.ts';
import { HEADERS, signalOf, type WireContext, type WireEnvironment } from '../http/answers.ts';
import { streamOf } from '../../wire/body.ts';
import type { RowsQuery } from '../jobs/job.ts';
import { LOCAL_COMPUTE, partsOf } from '../jobs/jobs.ts';
import {
  ARROW_MEDIA_TYPE,
  JSON_LINES_MEDIA_TYPE,
  MAX_ROW_LIMIT,
  ROUTES,
} from '../../wire/protocol.ts';
import { tableOf } from '../jobs/row-pieces.ts';

const FORMATS = ['arrow', 'jsonl'] as const;
const DAMAGE_WAYS = ['fail', 'skip'] as const;

/** Parameters that are numbers, by their names in code. */
const POSITIONS = {
  step: 'step',
  step_min: 'stepMin',
  step_max: 'stepMax',
  epoch: 'epoch',
  epoch_min: 'epochMin',
  epoch_max: 'epochMax',
  sequence_min: 'sequenceMin',
} as const;

/** Adds the route that gives out rows. */
export function addRowsRoute(
  app: Hono<WireEnvironment>,
  onFailure: (error: unknown) => void,
): void {
  app.get(ROUTES.rows, async (context) => {
    const { scope } = context.env;
    const { store, takeRoom, compute = LOCAL_COMPUTE } = scope;
    const query = queryOf(context);
    if ((await store.findRun(query.runId)) === undefined)
      throw new RunNotFoundError(query.runId, 'this store');
    const headers = {
      ...HEADERS,
      'cache-control': 'no-store',
      'content-type': query.format === 'arrow' ? ARROW_MEDIA_TYPE : JSON_LINES_MEDIA_TYPE,
    };
    if (context.req.method === 'HEAD') return new Response(null, { headers });
    const signal = signalOf(context);
    const task = compute.start({ name: 'rows', query }, { store, takeRoom, signal });
    const pieces = partsOf(task);
    // What is wrong from the start is an error with a status.
    const first = await pieces.next();
    return new Response(streamOf(first, pieces, onFailure), { headers });
  });
}

function queryOf(context: WireContext): RowsQuery {
  const { runId, table: name } = context.req.param() as { runId: string; table: string };
  const table = tableOf(name);
  const position: Record<string, number> = {};
  const conditions: Record<string, string> = {};
  const keys = new Map(
    Object.entries(table.columns).flatMap(([field, { kind }]) =>
      kind === 'key' && field !== 'runId' ? [[table.storedNames.get(field) ?? field, field]] : [],
    ),
  );
  let limit: number | undefined;
  const query = context.req.queries();
  for (const [parameter, values] of Object.entries(query)) {
    const [value = ''] = values;
    const field = keys.get(parameter);
    if (values.length > 1) throw invalidInput(parameter, values.length, 'given once');
    if (parameter === 'format' || parameter === 'damaged') continue;
    if (parameter === 'limit') limit = checkPositive(parameter, numberOf(value));
    else if (Object.hasOwn(POSITIONS, parameter))
      position[POSITIONS[parameter as keyof typeof POSITIONS]] = checkCount(
        parameter,
        numberOf(value),
      );
    else if (field !== undefined) conditions[field] = value;
    else
      throw invalidInput(
        parameter,
        parameter,
        `one of format, damaged, limit, ${[...Object.keys(POSITIONS), ...keys.keys()].join(', ')}`,
      );
  }
  if (limit !== undefined && limit > MAX_ROW_LIMIT)
    throw invalidInput(
      'limit',
      limit,
      `at most ${MAX_ROW_LIMIT}; without a limit, all rows come as they are read`,
    );
  const damaged = checkLiteral('damaged', context.req.query('damaged') ?? 'fail', DAMAGE_WAYS);
  const filter: PositionFilter = position;
  checkPosition(filter, []);
  const format = checkLiteral('format', context.req.query('format') ?? 'arrow', FORMATS);
  return {
    table: table.table,
    runId,
    format,
    position: filter,
    conditions,
    limit,
    skipsDamage: damaged === 'skip',
  };
}

function numberOf(text: string): unknown {
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}
