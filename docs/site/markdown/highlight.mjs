// Code in colours, at build time. The colours are variables of theme/site.css, so that one text serves light and dark.
import { createCssVariablesTheme, createHighlighter } from 'shiki';
import { escapeHtml } from './html.mjs';

const LANGUAGES = [
  'bash',
  'css',
  'html',
  'http',
  'ini',
  'js',
  'json',
  'jsx',
  'python',
  'sql',
  'ts',
  'tsx',
  'yaml',
];
const OTHER_NAMES = {
  sh: 'bash',
  shell: 'bash',
  console: 'bash',
  javascript: 'js',
  typescript: 'ts',
  mjs: 'js',
  yml: 'yaml',
};

const theme = createCssVariablesTheme({ name: 'quark', variablePrefix: '--code-' });
const highlighter = await createHighlighter({ themes: [theme], langs: LANGUAGES });

/** A block of code. What is in a language that is not known stays without colours. */
export function codeBlock(code, language = '') {
  const name = OTHER_NAMES[language] ?? language;
  const text = code.replace(/\n$/, '');
  if (!LANGUAGES.includes(name))
    return `<pre class="code"><code>${escapeHtml(text)}</code></pre>\n`;
  const [, inner] = /<code>([\s\S]*)<\/code>/.exec(
    highlighter.codeToHtml(text, { lang: name, theme: 'quark' }),
  );
  const html = inner.replaceAll('<span class="line">', '').replaceAll(/<\/span>(?=\n|$)/g, '');
  return `<pre class="code" data-language="${name}"><code>${shortened(html)}</code></pre>\n`;
}

/** The class of a colour instead of its declaration: half the bytes, and a policy without inline styles lets it through. */
const shortened = (html) =>
  html
    .replaceAll(/<span style="color:var\(--code-(?:token-)?([\w-]+)\)">/g, '<span class="c-$1">')
    .replaceAll(/<span class="c-foreground">([^<]*)<\/span>/g, '$1');
