// How Eleventy builds the site: documents of the repository are its input, with pages made from the sources beside them; the layout
// is theme/page.njk.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inScheme, hasSchemes, schemeName } from './markdown/images.mjs';
import { createMarkdown } from './markdown/markdown.mjs';
import { repositoryUrl } from './markdown/links.mjs';
import { homePage } from './pages/home.mjs';
import { layoutOf } from './pages/layout.mjs';
import { readNavigation, root } from './pages/navigation.mjs';
import { MADE } from './pages/made.mjs';
import { searchScript } from './search/index.mjs';
import { themeTokens } from './theme/tokens.mjs';

const here = (name) => join(root, 'docs/site', name);
const output = 'build/docs';

/** The navigation with the pages that generators make. */
async function wholeNavigation(render) {
  const { sections, problems } = readNavigation();
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const made = [];
  for (const section of sections) {
    if (section.made === undefined) continue;
    const pages = await MADE[section.made](render);
    section.pages.push(...pages);
    made.push(...pages);
  }
  return { sections: sections.filter(({ pages }) => pages.length > 0), made };
}

/** Images, styles and scripts, beside the pages. */
function writeAssets() {
  const target = join(root, output);
  mkdirSync(join(target, 'assets'), { recursive: true });
  mkdirSync(join(target, 'images'), { recursive: true });
  cpSync(join(root, 'docs/images'), join(target, 'images'), { recursive: true });
  for (const name of readdirSync(join(root, 'docs/images'))) {
    const file = `docs/images/${name}`;
    if (!hasSchemes(file)) continue;
    const svg = readFileSync(join(root, file), 'utf8');
    for (const scheme of ['light', 'dark'])
      writeFileSync(join(target, 'images', schemeName(name, scheme)), inScheme(svg, scheme));
  }
  const style = readFileSync(here('theme/site.css'), 'utf8');
  writeFileSync(join(target, 'assets/site.css'), `${themeTokens()}\n${style}`);
  for (const name of ['site.js', 'search.js', 'before-paint.js', 'icon.svg'])
    cpSync(here(`theme/${name}`), join(target, 'assets', name));
  cpSync(here('node_modules/minisearch/dist/umd/index.js'), join(target, 'assets/minisearch.js'));
}

export default async function configure(eleventy) {
  const files = new Map(
    readNavigation().sections.flatMap(({ pages }) => pages.map(({ file, title }) => [file, title])),
  );
  const markdown = createMarkdown(files);
  const renderFrom = (from) => (text) => markdown.render(text, { from });
  const { sections, made } = await wholeNavigation((text, address) =>
    markdown.render(text, { from: { file: 'README.md', address } }),
  );
  const pages = sections.flatMap((section) => section.pages);
  const byFile = new Map(pages.filter(({ file }) => file).map((page) => [page.file, page]));
  const home = homePage(sections, renderFrom({ file: 'README.md', address: 'index.html' }));

  eleventy.setUseGitIgnore(true);
  for (const folder of [
    '.*',
    'test',
    'src',
    'dashboard',
    'demo',
    'assembly',
    'scripts',
    'examples',
    'worker',
    'docs/site',
  ])
    eleventy.ignores.add(`${folder}/**`);
  eleventy.ignores.delete('README.md');
  eleventy.setLibrary('md', {
    disable: () => undefined,
    render: (text, { from }) => markdown.render(text, { from }),
  });
  eleventy.addPreprocessor('pages of the site', 'md', ({ page }) =>
    byFile.has(fileOf(page)) ? undefined : false,
  );
  eleventy.addGlobalData('layout', 'page.njk');
  eleventy.addGlobalData('eleventyComputed', {
    permalink: ({ address, page }) => address ?? byFile.get(fileOf(page))?.address ?? false,
    from: ({ page }) => byFile.get(fileOf(page)),
    site: ({ address, page }) =>
      layoutOf(address ?? byFile.get(fileOf(page))?.address, { sections, home, repositoryUrl }),
  });
  eleventy.addFilter('contents', contentsOf);
  for (const { address, title, html } of [home, ...made])
    eleventy.addTemplate(`docs/made/${address}`, html, { address, title });
  eleventy.addWatchTarget('docs/site/');
  eleventy.on('eleventy.after', ({ results }) => {
    writeAssets();
    writeFileSync(join(root, output, 'assets/search-index.js'), searchScript(results, sections));
  });
  return {
    dir: { input: '.', includes: 'docs/site/theme', output },
    templateFormats: ['md', 'html'],
    markdownTemplateEngine: false,
    htmlTemplateEngine: false,
  };
}

/** The file of a page, below the root of the repository. */
const fileOf = ({ inputPath }) => inputPath.replace(/^\.\//, '');

/** The headings of a page for its table of contents: second and third level. */
function contentsOf(html) {
  return [...html.matchAll(/<h([23]) id="([^"]+)"[^>]*>([\s\S]*?)<\/h\1>/g)].map(
    ([, level, id, words]) => ({
      level: Number(level),
      id,
      words: words
        .replace(/<a class="anchor"[\s\S]*?<\/a>/, '')
        .replaceAll(/<[^>]*>/g, '')
        .trim(),
    }),
  );
}
