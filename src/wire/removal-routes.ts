/** The routes that remove spaces and users: part of the table in `routes.ts`. */
import { admin, countOf, json, oneOf, removeOwn, text, textOf, type Route } from './route-parts.ts';
import { list, object } from './schemas.ts';
import { count } from './route-parts.ts';

const removed = json({
  removed: object({ spaces: list(text), projects: count, runs: count, keys: count }),
});

const query = {
  keepMs: countOf('How long the runs can be restored, in milliseconds. Default: 30 days.'),
  purge: oneOf(['yes'], 'Removes bytes at once: for a key of scope `admin`.'),
  dryRun: oneOf(['yes'], 'Counts only.'),
};

/** See the top of this file. */
export const REMOVAL_ROUTES = {
  'DELETE /spaces/:space': removeOwn(
    'deleteSpace',
    'Deletes all runs of a space of the user, ends its shares, and removes its projects with the last run',
    removed,
    { query },
  ),
  'DELETE /account': admin(
    'deleteAccount',
    'Removes the user of the key: all keys and shares are of no use at once, and all spaces are removed',
    removed,
    {
      query: {
        ...query,
        user: textOf('The name of the user, so that nobody does it by mistake.', true),
      },
    },
  ),
} as const satisfies Readonly<Record<string, Route>>;
