// The index of the search: one entry a section of a page, made while the site is built and stored as a classic script, which a page
// opened from a folder may load where it may load no JSON.
import MiniSearch from 'minisearch';
import { textOf } from '../markdown/html.mjs';
import { SEARCH_OPTIONS, wordsOf } from './options.mjs';

/** How much a match in a section counts: who asks how seldom asks why, or when it changed, and words are no names. */
const WEIGHTS = { Decisions: 0.35, Project: 0.35, Reference: 0.4 };
const EXCERPT = 600;

/** The sections of a page: what stands before the first heading below the title, and each heading with its text. */
function partsOf(html) {
  const article = /<article[^>]*>([\s\S]*)<\/article>/.exec(html)?.[1] ?? '';
  const bare = article.replaceAll(/<a class="anchor"[\s\S]*?<\/a>|<nav\b[\s\S]*?<\/nav>/g, '');
  const [first, ...others] = bare.split(/(?=<h[234] id=")/);
  return [
    { anchor: '', heading: '', text: textOf(first.replace(/<h1[\s\S]*?<\/h1>/, '')) },
    ...others.map((part) => {
      const [whole, anchor, heading] = /^<h[234] id="([^"]+)"[^>]*>([\s\S]*?)<\/h[234]>/.exec(part);
      return { anchor, heading: textOf(heading), text: textOf(part.slice(whole.length)) };
    }),
  ];
}

/** The script of the index. @param results pages as Eleventy wrote them @param sections the navigation */
export function searchScript(results, sections) {
  const index = new MiniSearch(SEARCH_OPTIONS);
  const pages = new Map(results.map(({ url, content }) => [url.replace(/^\//, ''), content]));
  let id = 0;
  for (const section of sections)
    for (const { address, title } of section.pages)
      for (const { anchor, heading, text } of partsOf(pages.get(address) ?? ''))
        index.add({
          id: (id += 1),
          title,
          heading,
          text,
          address: anchor === '' ? address : `${address}#${anchor}`,
          section: section.title,
          excerpt: text.slice(0, EXCERPT),
          weight: WEIGHTS[section.title] ?? 1,
        });
  if (id === 0) throw new Error('The index of the search is empty: no page has an article.');
  const options = `{ ...${JSON.stringify(SEARCH_OPTIONS)}, tokenize: ${wordsOf.toString()} }`;
  return `globalThis.quarkSearch = { options: ${options}, index: ${JSON.stringify(JSON.stringify(index))} };\n`;
}
