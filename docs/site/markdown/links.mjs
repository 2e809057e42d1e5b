// Links of documents, as links of pages. What leads to a file that is no page leads to the repository where package.json names one;
// where it does not, the name stays and the link goes.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryUrl as urlOf } from '../../../scripts/packed-readme.mjs';
import { addressOf, exampleAddress, fileMeant, linkBetween } from '../pages/addresses.mjs';
import { root } from '../pages/navigation.mjs';
import { isImage } from './images.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The address of the repository in a browser, or undefined while its owner has not filled the field. */
export const repositoryUrl = urlOf(manifest);

/** The document that a name means: of a folder its README. */
function documentMeant(file) {
  const path = join(root, file);
  if (existsSync(path) && statSync(path).isDirectory()) return `${file}/README.md`;
  return file;
}

/**
 * Turns the links of one document.
 *
 * @param files the documents that are pages, with their titles
 * @param from `file`, the document, and `address`, its page
 * @returns for a link: `href`, with the `title` of a page, or `file` where it leads to a file that is no page
 */
export function linkTurner(files, from) {
  return (link) => {
    // Generators name pages by their address.
    if (link.startsWith('site:')) return { href: linkBetween(from.address, link.slice(5)) };
    const file = fileMeant(from.file, link);
    if (file === undefined) return { href: link };
    const meant = documentMeant(file);
    const anchor = link.includes('#') ? link.slice(link.indexOf('#')) : '';
    const title = files.get(meant);
    if (title !== undefined)
      return { href: linkBetween(from.address, addressOf(meant) + anchor), title };
    const example = exampleAddress(file);
    if (example !== undefined && existsSync(join(root, file)))
      return { href: linkBetween(from.address, example) };
    if (isImage(file)) return { href: linkBetween(from.address, file.replace(/^docs\//, '')) };
    if (repositoryUrl) return { href: `${repositoryUrl}/blob/main/${file}${anchor}` };
    return { file };
  };
}
