// What a release is compared by with the one before: its public names by entry, and bytes. `releases/VERSION.json` has those of a release.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { publicNames } from '../check-docs.mjs';
import { BROWSER_ENTRIES } from '../entries.mjs';
import { pageBytes } from '../page-bytes.mjs';
import { root } from '../run-program.mjs';
import { closureOf, transferBytes } from '../size.mjs';
import { compareVersions } from './checks.mjs';

const folder = join(root, 'releases');

/** Names and bytes of the build in dist/. @param tarballBytes the size of the packed package */
export async function factsOfBuild(version, tarballBytes) {
  const { atOnce, untilFirstLog } = await pageBytes(['startRun', 'MetricsLogger']);
  const entries = BROWSER_ENTRIES.map((name) => [
    `entry ${name}`,
    transferBytes(closureOf(join(root, `dist/${name}.js`)).files),
  ]);
  return {
    version,
    names: publicNames(),
    bytes: {
      tarball: tarballBytes,
      'page at once': atOnce,
      'page until the first log': untilFirstLog,
      ...Object.fromEntries(entries),
    },
  };
}

/** The facts of the last release before a version, or undefined where there was none. */
export function factsBefore(version) {
  const versions = existsSync(folder)
    ? readdirSync(folder).flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -5)] : []))
    : [];
  const last = versions
    .filter((candidate) => compareVersions(candidate, version) < 0)
    .toSorted(compareVersions)
    .at(-1);
  return last === undefined
    ? undefined
    : JSON.parse(readFileSync(join(folder, `${last}.json`), 'utf8'));
}

/** Where the facts of a release are stored. */
export const factsFile = (version) => join(folder, `${version}.json`);
