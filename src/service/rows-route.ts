/** Rows of a table over HTTP: the segments that may match are opened here, and one stream comes out. */
import type { Hono } from 'hono';
import { checkCount, checkLiteral, checkPositive } from '../base/assert.ts';
import { invalidInput, RunNotFoundError, SessionStoreError } from '../base/errors.ts';
import { checkPosition, type PositionFilter } from '../read/filters.ts';
import { jsonLines } from '../read/json-lines.ts';
import { tableBatches, type RowSelection } from '../read/table-batches.ts';
import { TABLES } from '../records/tables.ts';
import type { TableDefinition } from '../schema/table.ts';
import { batchBytes, gatherRows } from '../segment/batch-ops.ts';
import { createStreamEncoder } from '../segment/encode-stream.ts';
import { describeDamage } from '../segment/open-segment.ts';
import type { RowBatch } from '../segment/vectors.ts';
import type { Store } from '../store/store.ts';
import { HEADERS, type WireContext, type WireEnvironment } from './answers.ts';
import { streamOf } from './body.ts';
import type { StoreScope } from './handler-options.ts';
import { ARROW_MEDIA_TYPE, JSON_LINES_MEDIA_TYPE, MAX_ROW_LIMIT, ROUTES } from './protocol.ts';

type TakeRoom = StoreScope['takeRoom'];

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

type Query = {
  readonly table: TableDefinition;
  readonly runId: string;
  readonly selection: RowSelection;
  readonly limit: number | undefined;
  readonly skipsDamage: boolean;
};

/** Adds the route that gives out rows. */
export function addRowsRoute(
  app: Hono<WireEnvironment>,
  onFailure: (error: unknown) => void,
): void {
  app.get(ROUTES.rows, async (context) => {
    const { store, takeRoom } = context.env.scope;
    const format = checkLiteral('format', context.req.query('format') ?? 'arrow', FORMATS);
    const query = queryOf(context);
    if ((await store.findRun(query.runId)) === undefined)
      throw new RunNotFoundError(query.runId, 'this store');
    const headers = {
      ...HEADERS,
      'cache-control': 'no-store',
      'content-type': format === 'arrow' ? ARROW_MEDIA_TYPE : JSON_LINES_MEDIA_TYPE,
    };
    if (context.req.method === 'HEAD') return new Response(null, { headers });
    const pieces =
      format === 'arrow' ? arrowPieces(store, query, takeRoom) : linePieces(store, query, takeRoom);
    // What is wrong from the start is an error with a status.
    const first = await pieces.next();
    return new Response(streamOf(first, pieces, onFailure), { headers });
  });
}

function queryOf(context: WireContext): Query {
  const { runId, table: name } = context.req.param() as { runId: string; table: string };
  const table = TABLES.get(name);
  if (table === undefined)
    throw invalidInput('table', name, `one of ${[...TABLES.keys()].join(', ')}`);
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
  return {
    table,
    runId,
    selection: { position: checkPosition(filter, []), conditions },
    limit,
    skipsDamage: damaged === 'skip',
  };
}

async function* arrowPieces(
  store: Store,
  query: Query,
  takeRoom: TakeRoom,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const encoder = createStreamEncoder(query.table, [['quark:run_id', query.runId]]);
  yield encoder.start();
  for await (const batch of batchesOf(store, query, takeRoom)) yield encoder.rows(batch);
  yield encoder.end();
}

async function* linePieces(
  store: Store,
  query: Query,
  takeRoom: TakeRoom,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const text = new TextEncoder();
  for await (const batch of batchesOf(store, query, takeRoom))
    for (const lines of jsonLines(query.table, batch, query.runId)) yield text.encode(lines);
}

async function* batchesOf(
  store: Store,
  query: Query,
  takeRoom: TakeRoom,
): AsyncGenerator<RowBatch, undefined> {
  const { table, runId, selection, limit, skipsDamage } = query;
  const batches = tableBatches(store, table, runId, {
    rows: selection,
    takeRoom,
    onDamage: (report) => {
      if (skipsDamage) return;
      throw new SessionStoreError(
        'corrupt',
        `${describeDamage(report)} Ask with damaged=skip for the rows that can be read.`,
        { details: { runId, table: table.table } },
      );
    },
  });
  if (limit === undefined) {
    yield* batches;
    return undefined;
  }
  // The most recent rows: as many as are asked for are held, and no more than a batch besides.
  const last: RowBatch[] = [];
  let held = 0;
  for await (const batch of batches) {
    last.push(batch);
    held += batch.rowCount;
    let room = batchBytes(batch);
    while (last[0] !== undefined && held - last[0].rowCount >= limit) {
      const dropped = last.shift();
      held -= dropped?.rowCount ?? 0;
      room -= dropped === undefined ? 0 : batchBytes(dropped);
    }
    takeRoom?.(room);
  }
  for (const [i, batch] of last.entries()) {
    const skipped = i === 0 ? held - limit : 0;
    yield skipped <= 0
      ? batch
      : gatherRows(
          batch,
          Int32Array.from({ length: batch.rowCount - skipped }, (_, row) => row + skipped),
        );
  }
  return undefined;
}

function numberOf(text: string): unknown {
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}
