// What is asked of runs: the newest that meet a condition, as records, and what a table of them shows.
const QUERIES = {
  'config.optimizer.lr <= 0.002, newest 50': { config: { optimizer: { lr: { lte: 0.002 } } } },
  'one seed of 10,000': { config: { seed: 4711 } },
  'lr and best loss and status': {
    config: { optimizer: { lr: { lte: 0.1 }, name: 'adam' } },
    metrics: { 'part0/loss': { best: { lt: 0.01 } } },
    status: 'completed',
  },
  'a group and workers >= 8': { groups: ['sweep_7'], tags: { workers: { gte: 8 } } },
  "name like '%4711%'": { name: { like: '%4711%' } },
  'not (lr < 0.5) or failed': {
    or: [{ not: { config: { optimizer: { lr: { lt: 0.5 } } } } }, { status: 'failed' }],
  },
};

const COLUMNS = [
  'config.optimizer.lr',
  'config.seed',
  'part0/loss.best',
  'part1/loss',
  'durationMs',
];
const FILTER = 'config.optimizer.lr < 0.1 and part0/loss.best < 0.25 and status:completed';

/** Questions to one store with one build, by name. */
export function questionsOf({ findRuns, workspace, store }) {
  const { findRunColumns, findRunFacets, findRunGroups, findRunIds, findRunRows } = workspace;
  const rows = (query) => findRunRows(store, { columns: COLUMNS, limit: 100, ...query });
  const by = (path, direction = 'ascending') => [{ by: path, direction }];
  const name = { orderBy: [...by('name'), ...by('project')] };
  const last = { orderBy: by('part0/loss', 'descending') };
  /** The page after the first one. */
  const next = async (query) => {
    const { cursor } = await rows(query);
    const began = performance.now();
    await rows({ ...query, after: cursor });
    return performance.now() - began;
  };
  const found = Object.entries(QUERIES).map(([what, query]) => [
    `findRuns: ${what}`,
    () => findRuns(store, query, { limit: 50 }),
  ]);
  return {
    ...Object.fromEntries(found),
    'table: first page': () => rows({}),
    'table: next page': () => next({}),
    'table: by name': () => rows(name),
    'table: by name, next page': () => next(name),
    'table: oldest first': () => rows({ orderBy: by('startedAt') }),
    'table: by the last value of a metric': () => rows(last),
    'table: by the last value of a metric, next page': () => next(last),
    'table: by a configuration key, from the largest': () =>
      rows({ orderBy: by('config.seed', 'descending') }),
    'table: by a configuration key of two values': () =>
      rows({ orderBy: by('config.optimizer.name') }),
    'table: by status': () => rows({ orderBy: by('status') }),
    'table: three conditions': () => rows({ where: FILTER }),
    'table: three conditions, by a metric': () => rows({ where: FILTER, ...last }),
    'table: words': () => rows({ text: 'number 4711' }),
    'table: ids of three conditions': () => findRunIds(store, { where: FILTER, limit: 100_000 }),
    'table: columns': () => findRunColumns(store),
    'table: facets of status, tags and a key': () =>
      findRunFacets(store, { by: ['status', 'tags', 'config.optimizer.name'] }),
    'table: groups by a key of two values, means of two': () =>
      findRunGroups(store, {
        by: ['config.optimizer.name'],
        of: ['part0/loss', 'part1/loss.best'],
      }),
  };
}
