// The sections of the site, and the pages in each: as navigation.json declares them, with the files of the folders that a section
// joins. Reads files and needs no package, so that `npm test` can ask it too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addressOf } from './addresses.mjs';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

const read = (file) => readFileSync(join(root, file), 'utf8');

/** Whether two addresses or titles are equal, and how they are ordered: numbers in them by their value. */
const { compare } = new Intl.Collator('en', { numeric: true });

/** What stands in front of a page: `title` and `order`, both optional. */
function frontMatterOf(text) {
  const block = /^---\n([\s\S]*?)\n---\n/.exec(text)?.[1] ?? '';
  const field = (name) =>
    new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(block)?.[1].replaceAll(/^["']|["']$/g, '');
  return { title: field('title'), order: Number(field('order') ?? Number.NaN) };
}

/** A page of a Markdown file: its address below the root of the site, its title, and its order in a folder. */
export function pageOf(file, readText = read) {
  const text = readText(file);
  const { title, order } = frontMatterOf(text);
  const heading = /^# +(.+)$/m.exec(text)?.[1];
  const words = title ?? heading ?? basename(file, '.md');
  return { file, address: addressOf(file), title: words.replaceAll('`', ''), order };
}

/** The Markdown files of a folder, or the file of that name. */
function filesOf(folder) {
  const one = existsSync(join(root, `${folder}.md`)) ? [`${folder}.md`] : [];
  const listed = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];
  return [
    ...one,
    ...listed.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`),
  ];
}

/** Every Markdown file of docs/ but those of the generator itself. */
function documents() {
  return readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => `docs/${String(name).replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md') && !name.startsWith('docs/site/'));
}

/** Pages that join a section by their folder, by `order` and then by address. */
function joined(folder, named) {
  const pages = filesOf(folder)
    .filter((file) => !named.has(file))
    .map((file) => pageOf(file));
  const orderOf = ({ order }) => (Number.isNaN(order) ? Infinity : order);
  return pages.toSorted((a, b) =>
    orderOf(a) === orderOf(b) ? compare(a.address, b.address) : orderOf(a) - orderOf(b),
  );
}

/**
 * The navigation. `sections` have a title, a sentence about them and their pages; one with `made` has the pages that a generator
 * makes. `problems` names pages that are declared and missing, and documents that are in no section.
 */
export function readNavigation(declared = JSON.parse(read('docs/site/navigation.json'))) {
  const named = new Set([
    ...declared.leftOut,
    ...declared.sections.flatMap(({ pages }) => pages ?? []),
  ]);
  const missing = [...named].filter((file) => !existsSync(join(root, file)));
  const sections = declared.sections.map(({ title, about, made, joins, pages = [] }) => {
    const own = pages.filter((file) => !missing.includes(file)).map((file) => pageOf(file));
    const others = joins === undefined ? [] : joined(joins, named);
    const isIndexFirst = own[0]?.address.endsWith('index.html') ?? false;
    const isOwnFirst = isIndexFirst || others.length === 0;
    return {
      title,
      about,
      made,
      pages: isOwnFirst ? [...own, ...others] : [...others, ...own],
    };
  });
  const shown = new Set([...declared.leftOut, ...sections.flatMap(filesIn)]);
  return {
    sections,
    problems: [
      ...missing.map((file) => `navigation.json names ${file}, which does not exist.`),
      ...documents()
        .filter((file) => !shown.has(file))
        .map((file) => `${file} is in no section of navigation.json.`),
      ...twice(sections.flatMap(filesIn)).map((file) => `navigation.json has ${file} twice.`),
    ],
  };
}

const filesIn = ({ pages }) => pages.map(({ file }) => file);

const twice = (values) => values.filter((value, at) => values.indexOf(value) !== at);
