// The entries of the package, as `exports` of package.json declares them: `index` for the package itself.
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const ENTRIES = Object.keys(manifest.exports)
  // Settings, and the build in one file, which has no chunks.
  .filter((name) => !/\.js(?:on)?$/.test(name))
  .map((name) => (name === '.' ? 'index' : name.slice(2)));

/** The source of an entry, in `src/`: that of `store/testing` is `store-testing.ts`. */
export const sourceOf = (name) => `${name.replace('/', '-')}.ts`;

/** Entries that only Node can load. */
const NODE_ENTRIES = new Set(['node', 'service']);

/** Entries that a page can load. */
export const BROWSER_ENTRIES = ENTRIES.filter((name) => !NODE_ENTRIES.has(name));

/** What follows the package's name in an import of each. */
export const subpathsOf = (names) => names.map((name) => (name === 'index' ? '' : `/${name}`));
