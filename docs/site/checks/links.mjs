// Links of the built pages: every file and every anchor that a page names is there, nothing is absolute, and nothing that is needed to
// read comes from elsewhere.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Parser } from 'htmlparser2';

/** Elements that load something, and the attribute that names it. */
const LOADED = { img: 'src', script: 'src', link: 'href', source: 'srcset', iframe: 'src' };

/** Anchors, links and loaded files of a page, and what is wrong with it in itself. */
function readPage(html) {
  const page = { ids: new Set(), links: [], loaded: [], problems: [], titles: 0, mains: 0 };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      const { id } = attributes;
      if (id !== undefined) {
        if (page.ids.has(id)) page.problems.push(`has two elements with the id "${id}"`);
        page.ids.add(id);
      }
      if (name === 'h1') page.titles += 1;
      if (name === 'main') page.mains += 1;
      if (name === 'a' && attributes.href !== undefined) page.links.push(attributes.href);
      const source = attributes[LOADED[name]];
      if (source !== undefined) page.loaded.push(source);
    },
  });
  parser.end(html);
  if (page.titles !== 1) page.problems.push(`has ${page.titles} elements h1, not one`);
  if (page.mains !== 1) page.problems.push(`has ${page.mains} elements main, not one`);
  return page;
}

const isElsewhere = (link) => /^[a-z][a-z+.-]*:|^\/\//i.test(link);

/** Checks all pages below a folder. */
export function checkLinks(folder, names) {
  const pages = new Map(
    names.map((name) => [name, readPage(readFileSync(join(folder, name), 'utf8'))]),
  );
  const problemOf = (name, link) => {
    if (link.startsWith('/')) return `the link ${link} is absolute`;
    const [path, anchor] = link.split('#');
    const target =
      path === '' ? join(folder, name) : resolve(folder, dirname(name), decodeURI(path));
    if (!existsSync(target)) return `the link ${link} leads nowhere`;
    const page = pages.get(relative(folder, target).replaceAll('\\', '/'));
    if (anchor === undefined || page === undefined) return undefined;
    return page.ids.has(decodeURIComponent(anchor)) ? undefined : `the link ${link} has no anchor`;
  };
  const found = [...pages].flatMap(([name, { links, loaded, problems }]) =>
    [
      ...problems,
      ...loaded.filter(isElsewhere).map((source) => `loads ${source} from elsewhere`),
      ...[...links, ...loaded]
        .filter((link) => !isElsewhere(link))
        .map((link) => problemOf(name, link))
        .filter((problem) => problem !== undefined),
    ].map((problem) => `${name}: ${problem}`),
  );
  const problems = [...new Set(found)];
  const wrong = new Set(problems.map((problem) => problem.split(':')[0]));
  return { passed: pages.size - wrong.size, problems };
}
