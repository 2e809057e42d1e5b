// What readers of the page are told: every text that goes through `t` or `tn`, and those that do not.
//   node scripts/page-texts.mjs           prints what is wrong
//   node scripts/page-texts.mjs --lacking prints the texts that the German catalogue lacks, as JSON
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { lineAt, readTree, walk } from './rooms-tree.mjs';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const CATALOGUE = 'dashboard/languages/german.json';
/** Attributes that people see or hear. */
const SEEN = new Set([
  'aria-label',
  'aria-description',
  'alt',
  'label',
  'placeholder',
  'title',
  'hint',
]);
/** Texts that are the same in every language: names, units, signs. */
const NEUTRAL =
  /^(?:[^\p{L}]*|Quark|TensorFlow\.js|JavaScript|train\.js|sha256|ƒ|qk_\.\.\.|onnxruntime-web|CSV|PNG|SVG|JSON|HTML|GPU|CPU|ms|s|B|MB|GB|KiB|MiB|GiB|px|x|y|PR|ROC|AUC|n|p|Ctrl|Esc)$/u;

/** Texts of the page by their keys, and what is wrong, as lines. */
export function pageTexts(root) {
  const files = readTree(root).filter(
    ({ isCode, path }) => isCode && /^(?:dashboard|demo)\//.test(path),
  );
  const keys = new Map();
  const errors = [];
  for (const file of files)
    walk(file, (node, parents) => {
      const at = `${file.path}:${lineAt(file, node.start)}`;
      if (node.type === 'CallExpression' && /^tn?$/.test(node.callee.name ?? '')) {
        const key = keyOf(node);
        if (key === undefined) errors.push(`${at}: the text is no literal`);
        else keys.set(key, at);
        if (!parents.some(({ type }) => /Function/.test(type)))
          errors.push(
            `${at}: the text is read before the language is known; put it into a function`,
          );
      }
      const bare = bareText(node, parents);
      if (bare !== undefined) errors.push(`${at}: "${bare}" does not go through t`);
    });
  return { keys, errors };
}

/** The key of a call in catalogues; undefined where it is no literal. */
function keyOf({ arguments: given, callee }) {
  const texts = callee.name === 't' ? given.slice(0, 1) : given.slice(1, 3);
  const values = texts.map((one) => literalOf(one));
  return values.includes(undefined) ? undefined : values.join('|');
}

function literalOf(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0].value.cooked;
  if (node?.type === 'BinaryExpression' && node.operator === '+') {
    const [left, right] = [literalOf(node.left), literalOf(node.right)];
    return left === undefined || right === undefined ? undefined : left + right;
  }
  return undefined;
}

/** Words of a language in JSX that no call of `t` is around. */
function bareText(node, parents) {
  if (node.type === 'JSXText') return isTyped(parents.at(-1)) ? undefined : wordsIn(node.value);
  if (node.type === 'JSXAttribute' && SEEN.has(node.name.name ?? '')) {
    const { value } = node;
    if (value?.type === 'Literal') return wordsIn(String(value.value));
    if (value?.type === 'JSXExpressionContainer') {
      const literal = literalOf(value.expression);
      if (literal !== undefined) return wordsIn(literal);
      if (value.expression.type === 'TemplateLiteral')
        return wordsIn(value.expression.quasis.map((one) => one.value.cooked).join(' '));
    }
  }
  return undefined;
}

/** What stands in `<code>` is typed, not read. */
function isTyped(parent) {
  return parent?.openingElement?.name.name === 'code';
}

function wordsIn(text) {
  const words = text.trim().replaceAll(/\s+/g, ' ');
  return words === '' || NEUTRAL.test(words) ? undefined : words;
}

/** What is wrong with a catalogue for these keys, as lines. */
export function catalogueErrors(keys, catalogue) {
  const names = (text) => new Set(text.match(/\{\w+\}/g));
  const isSame = (a, b) => a.size === b.size && [...a].every((one) => b.has(one));
  const errors = [...keys].flatMap(([key, at]) => {
    const found = catalogue[key];
    if (found === undefined) return [`${at}: the catalogue lacks "${key}"`];
    const forms = [key.split('|'), found.split('|')];
    if (forms[0].length !== forms[1].length)
      return [`${at}: "${found}" has not as many forms as "${key}"`];
    return isSame(names(key), names(found))
      ? []
      : [`${at}: "${found}" has other values than "${key}"`];
  });
  return [
    ...errors,
    ...Object.keys(catalogue)
      .filter((key) => !keys.has(key))
      .map((key) => `${CATALOGUE}: nothing says "${key}"`),
  ];
}

export const readCatalogue = (root) => JSON.parse(readFileSync(join(root, CATALOGUE), 'utf8'));

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const { errors, keys } = pageTexts(HERE);
  if (process.argv.includes('--lacking')) {
    const known = readCatalogue(HERE);
    console.log(
      JSON.stringify(
        [...keys.keys()].filter((key) => !(key in known)),
        null,
        1,
      ),
    );
  } else {
    const all = [...errors, ...catalogueErrors(keys, readCatalogue(HERE))];
    for (const error of all) console.error(error);
    process.exitCode = all.length > 0 ? 1 : 0;
  }
}
