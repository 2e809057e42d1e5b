// Markdown to HTML: headings with the anchors of GitHub, code in colours, images in both schemes, links between pages.
import MarkdownIt from 'markdown-it';
import anchor from 'markdown-it-anchor';
import { codeBlock } from './highlight.mjs';
import { escapeHtml } from './html.mjs';
import { isImage, sizeOf, variantsOf } from './images.mjs';
import { linkTurner } from './links.mjs';
import { fileMeant, linkBetween } from '../pages/addresses.mjs';

/** The anchor of a heading, as GitHub and scripts/check-links.mjs make it. */
export const slugOf = (text) =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

/** The images of one file for both schemes. */
function imageHtml(file, alt, address) {
  const image = (path, name) => {
    const size = sizeOf(file);
    const box = size ? ` width="${size[0]}" height="${size[1]}"` : '';
    const src = linkBetween(address, path.replace(/^docs\//, ''));
    return `<img${name}${box} loading="lazy" alt="${escapeHtml(alt)}" src="${src}">`;
  };
  const { light, dark, both } = variantsOf(file);
  return both === undefined
    ? image(light, ' class="in-light"') + image(dark, ' class="in-dark"')
    : image(both, '');
}

const attribute = (html, name) => new RegExp(`\\b${name}="([^"]*)"`).exec(html)?.[1];

/** HTML in a document: `<picture>` and `<img>` of our images become both variants, other links are turned. */
function turnHtml(html, { file, address }, turn) {
  const imageOf = (tag, whole) => {
    const meant = fileMeant(file, attribute(tag, 'src') ?? '');
    return meant !== undefined && isImage(meant)
      ? imageHtml(meant, attribute(tag, 'alt') ?? '', address)
      : whole;
  };
  return html
    .replaceAll(/<picture>[\s\S]*?(<img\b[^>]*>)[\s\S]*?<\/picture>/g, (whole, tag) =>
      imageOf(tag, whole),
    )
    .replaceAll(/<img\b(?![^>]*loading=)[^>]*>/g, (tag) => imageOf(tag, tag))
    .replaceAll(/(<a\b[^>]*\bhref=")([^"]*)"/g, (whole, start, link) => {
      const { href } = turn(link);
      return href === undefined ? whole : `${start}${href}"`;
    });
}

/** A link that shows the name of a file shows the title of the page here. */
const FILE_NAME = /^[\w./-]+\.md$/;

/** Links of tokens, and those that lead nowhere without a repository: their words stay. */
function turnTokens(tokens, turn) {
  const open = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'link_open') {
      const { href, file, title } = turn(token.attrGet('href'));
      if (title !== undefined && FILE_NAME.test(tokens[at + 1].content))
        tokens[at + 1].content = title;
      if (href === undefined) {
        token.tag = 'span';
        token.attrs = [['title', `In the repository: ${file}`]];
      } else {
        token.attrSet('href', href);
        if (/^https?:/.test(href)) token.attrSet('rel', 'noopener');
      }
      open.push(token.tag);
    } else if (token.type === 'link_close') token.tag = open.pop();
  }
}

/**
 * A renderer whose `render(text, { from })` gives HTML; `from` has the `file` of the document and the `address` of its page.
 *
 * @param files the documents that are pages, with their titles
 */
export function createMarkdown(files) {
  const markdown = new MarkdownIt({ html: true, linkify: true, highlight: codeBlock });
  markdown.linkify.set({ fuzzyLink: false });
  markdown.use(anchor, {
    slugify: slugOf,
    permalink: anchor.permalink.linkInsideHeader({
      class: 'anchor',
      symbol: '#',
      renderAttrs: () => ({ 'aria-hidden': 'true', tabindex: '-1' }),
    }),
  });
  markdown.core.ruler.push('links', ({ tokens, env }) => {
    const turn = linkTurner(files, env.from);
    for (const token of tokens) if (token.children) turnTokens(token.children, turn);
  });
  const rules = markdown.renderer.rules;
  rules.table_open = () => '<div class="table"><table>\n';
  rules.table_close = () => '</table></div>\n';
  // A head without words is no head: the first cell above names of rows.
  rules.th_open = (tokens, at, options, env, renderer) => {
    if (tokens[at + 1].content === '') tokens[at].tag = tokens[at + 2].tag = 'td';
    return renderer.renderToken(tokens, at, options);
  };
  rules.fence = (tokens, at) =>
    codeBlock(tokens[at].content, tokens[at].info.trim().split(/\s/)[0]);
  rules.code_block = (tokens, at) => codeBlock(tokens[at].content);
  rules.html_block = (tokens, at, _options, env) =>
    turnHtml(tokens[at].content, env.from, linkTurner(files, env.from));
  rules.html_inline = rules.html_block;
  rules.image = (tokens, at, options, env, renderer) => {
    const token = tokens[at];
    const alt = renderer.renderInlineAsText(token.children, options, env);
    const file = fileMeant(env.from.file, token.attrGet('src'));
    return file !== undefined && isImage(file)
      ? imageHtml(file, alt, env.from.address)
      : renderer.renderToken(tokens, at, options);
  };
  return markdown;
}
