// The first page of the site: what Quark is, in the words of README.md, three ways to begin, and all sections.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './navigation.mjs';
import { escapeHtml } from '../markdown/html.mjs';

/** Ways to begin while docs/start has no pages of its own. */
const WAYS = [
  { title: 'In the browser', address: 'readme.html#in-the-browser' },
  { title: 'In Node', address: 'readme.html#in-node' },
  { title: 'A service for a team', address: 'deploy.html' },
];
const PAGES_SHOWN = 7;

/** The first paragraph and the first picture of README.md. */
function introduction() {
  const [, text, picture] = /^# .+\n\n([\s\S]+?)\n\n(<picture>[\s\S]+?<\/picture>)/.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  );
  return { text, picture };
}

const link = ({ title, address }) => `<a href="${address}">${escapeHtml(title)}</a>`;

function sectionCard({ title, about, pages }) {
  const shown = pages.filter(({ depth = 0 }) => depth === 0);
  const items = shown.slice(0, PAGES_SHOWN).map((page) => `<li>${link(page)}</li>`);
  const more = shown.length - PAGES_SHOWN;
  return `<section class="card"><h2>${link({ title, address: shown[0].address })}</h2><p>${about}</p>${
    shown.length > 1 ? `<ul>${items.join('')}</ul>` : ''
  }${more > 0 ? `<p class="more">and ${more} more</p>` : ''}</section>`;
}

/** The page. @param render Markdown to HTML, with links as from README.md */
export function homePage(sections, render) {
  const { text, picture } = introduction();
  const start = sections[0].pages.filter(({ file }) => file.startsWith('docs/start/'));
  const ways = start.length > 0 ? start : WAYS;
  const cards = sections.map((section) =>
    sectionCard({ ...section, about: render(section.about).replaceAll(/<\/?p>/g, '') }),
  );
  return {
    address: 'index.html',
    title: 'Quark',
    html: `<div class="hero"><h1>Quark</h1>${render(text)}
<nav class="ways" aria-label="Begin">${ways.map((way) => `<p>${link(way)}</p>`).join('')}</nav></div>
<figure class="shot">${render(picture)}</figure>
<div class="cards">${cards.join('\n')}</div>`,
  };
}
