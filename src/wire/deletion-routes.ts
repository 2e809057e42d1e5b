/** The routes that delete, archive and restore runs, and remove spaces and users: part of the table in `routes.ts`. */
import {
  admin,
  count,
  countOf,
  flagOf,
  json,
  jsonOf,
  message,
  next,
  number,
  oneOf,
  purge,
  read,
  remove,
  removeOwn,
  text,
  textOf,
  type Route,
} from './route-parts.ts';
import { list, object } from './schemas.ts';

const run = json({ run: 'Run' });
const none = json();
const deletedRows = json({ run_id: text, table: text, rows: number });

const removed = json({
  removed: object({ spaces: list(text), projects: count, runs: count, keys: count }),
});

const removalQuery = {
  keepMs: countOf('How long the runs can be restored, in milliseconds. Default: 30 days.'),
  purge: oneOf(['yes'], 'Removes bytes at once: for a key of scope `admin`.'),
  dryRun: oneOf(['yes'], 'Counts only.'),
};

/** The routes that remove spaces and users. */
const REMOVAL_ROUTES = {
  'DELETE /spaces/:space': removeOwn(
    'deleteSpace',
    'Deletes all runs of a space of the user, ends its shares, and removes its projects with the last run',
    removed,
    { query: removalQuery },
  ),
  'DELETE /account': admin(
    'deleteAccount',
    'Removes the user of the key: all keys and shares are of no use at once, and all spaces are removed',
    removed,
    {
      query: {
        ...removalQuery,
        user: textOf('The name of the user, so that nobody does it by mistake.', true),
      },
    },
  ),
} as const satisfies Readonly<Record<string, Route>>;

/** See the top of this file. */
export const DELETION_ROUTES = {
  'DELETE /runs/:runId': remove(
    'deleteRun',
    'Deletes a run; it can be restored until it is purged. Doing it again changes nothing',
    json({ deleted: 'DeletedRun' }),
    {
      query: {
        keepMs: countOf('How long it can be restored, in milliseconds. Default: 30 days.'),
        by: textOf('Who deletes it. Default: the user of the key.'),
      },
    },
  ),
  'DELETE /projects/:name': remove(
    'deleteProject',
    'Deletes a project with all of its runs. It comes back with the first run that is restored, and goes with the last one that is purged',
    json({ project: text, runs: count, purge_at_ms: { type: ['number', 'null'] } }),
    {
      query: {
        keepMs: countOf('How long its runs can be restored, in milliseconds. Default: 30 days.'),
        by: textOf('Who deletes it. Default: the user of the key.'),
        running: flagOf('Whether runs with a live session are deleted, too. Default: false.'),
      },
    },
  ),
  'DELETE /runs/:runId/tables/:table': remove(
    'deleteTable',
    'Deletes all rows of a table of an ended run. Nothing brings them back',
    deletedRows,
  ),
  'DELETE /runs/:runId/artifacts': remove(
    'deleteArtifact',
    'Deletes the artifacts of an ended run with this id or key. Nothing brings them back',
    deletedRows,
    { query: { artifact: textOf('The id or the key of an artifact.') } },
  ),
  'POST /runs/:runId/archive': remove('archiveRun', 'Marks a run as archived', run, {
    body: message(none),
  }),
  'POST /runs/:runId/restore': remove(
    'restoreRun',
    'Brings a deleted run back, or an archived one out of the archive',
    run,
    { body: message(none) },
  ),
  'GET /deleted-runs': read(
    'getDeletedRuns',
    'Tombstones of deleted runs, those deleted last first',
    json({ deleted: ['DeletedRun'], next }),
    {
      query: {
        limit: countOf('At most 2,000, which is the default.'),
        offset: countOf('Tombstones to pass over: `next` of the page before.'),
      },
    },
  ),
  'GET /deleted-runs/:runId': read(
    'getDeletedRun',
    'The tombstone of one run',
    json({ deleted: 'DeletedRun' }),
  ),
  'POST /purge': purge(
    'postPurge',
    'Removes the bytes of deleted runs whose time has come, and of those that are named',
    json({ deleted: ['DeletedRun'] }),
    {
      body: message(
        jsonOf(
          object(
            {
              now_ms: {
                ...number,
                description: 'In epoch milliseconds; by the clock of the service unless given.',
              },
              force: {
                ...list(text),
                description: 'Runs whose time need not have come, at most 1,000.',
              },
            },
            ['now_ms', 'force'],
          ),
        ),
      ),
    },
  ),
  ...REMOVAL_ROUTES,
} as const satisfies Readonly<Record<string, Route>>;
