// Where the pages of the site are, and how one leads to another: relative to each other, with the names of files, so that they open
// from a folder as from any server.
import { posix } from 'node:path';

/** Documents whose address is not that of their file. */
const OWN = new Map([
  ['README.md', 'readme.html'],
  ['docs/README.md', 'documents.html'],
  ['bench/README.md', 'bench.html'],
  ['deploy/README.md', 'deploy.html'],
]);

/** The address of a Markdown file, below the root of the site. */
export function addressOf(file) {
  const own = OWN.get(file);
  if (own !== undefined) return own;
  return file
    .replace(/^docs\//, '')
    .toLowerCase()
    .replace(/(^|\/)readme\.md$/, '$1index.html')
    .replace(/\.md$/, '.html');
}

/** The address of a program in examples/; undefined for other files. */
export function exampleAddress(file) {
  const name = /^examples\/([\w-]+)\.(?:mjs|html)$/.exec(file)?.[1];
  return name === undefined ? undefined : `examples/${name}.html`;
}

/** A link from one address to another: `../index.html#there`. */
export function linkBetween(from, to) {
  const [path, anchor] = to.split('#');
  const relative = posix.relative(posix.dirname(from), path);
  const file = relative === '' ? posix.basename(path) : relative;
  return anchor === undefined ? file : `${file}#${anchor}`;
}

/** What leads from an address to the root of the site: nothing, `../` or `../../`. */
export const baseOf = (address) => '../'.repeat(address.split('/').length - 1);

/** The file of the repository that a link in a document means; undefined for an address with a scheme or of the document itself. */
export function fileMeant(from, link) {
  if (/^[a-z][a-z+.-]*:|^#|^\/\//i.test(link)) return undefined;
  const path = decodeURI(link.split('#')[0]);
  return posix.normalize(posix.join(posix.dirname(from), path)).replace(/\/$/, '');
}
