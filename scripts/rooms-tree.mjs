// What `npm run rooms` reads: the files of the rooms, and from each what it imports, exports and declares.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync } from 'vite';

/** The folders at the top that consist of rooms. One that is missing is left out. */
const TOP_FOLDERS = ['src', 'worker', 'dashboard', 'demo'];
const CODE = /\.tsx?$/;
/** What counts as a line of the house. Data of the training page does not. */
const SOURCE = /\.(?:tsx?|m?js|css|html)$/;
const PACKAGE = 'quark-sdk';

/** The specifiers of a file whose AST is needed for it: `import()`, `import('x').T` and the URLs of workers. */
const NEEDS_AST = /\bimport\s*\(|import\.meta\.url/;

/** The order of texts in all that is printed. */
export const byText = (a, b) => (a < b ? -1 : Number(a > b));

/**
 * All files of the rooms under a root, sorted, with forward slashes. Generated files are not checked and not counted.
 */
export function readTree(root) {
  const paths = [];
  const visit = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (!entry.name.startsWith('.') && !path.includes('.generated.')) paths.push(path);
    }
  };
  const present = new Set(readdirSync(root));
  for (const folder of TOP_FOLDERS) if (present.has(folder)) visit(folder);
  return paths.toSorted(byText).map((path) => sourceFile(root, path));
}

function sourceFile(root, path) {
  const isCode = CODE.test(path);
  const text = SOURCE.test(path) ? readFileSync(join(root, path), 'utf8') : undefined;
  if (!isCode) return { path, folder: posix.dirname(path), text, isCode };
  const parsed = parseSync(path, text);
  if (parsed.errors.length > 0)
    throw new Error(`${path} does not parse: ${parsed.errors[0].message}`);
  return { path, folder: posix.dirname(path), text, isCode, parsed };
}

/** The number of line ends, as `wc -l` counts. */
export function lineCount({ text = '' }) {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/** The line of an offset, from 1. */
export const lineAt = ({ text }, offset) => text.slice(0, offset).split('\n').length;

/** Calls `enter(node, parents)` for every node of a file's AST, outermost first. */
export function walk({ parsed }, enter) {
  const parents = [];
  const visit = (node) => {
    enter(node, parents);
    parents.push(node);
    for (const key of Object.keys(node)) {
      const child = node[key];
      if (Array.isArray(child)) {
        for (const item of child) if (typeof item?.type === 'string') visit(item);
      } else if (typeof child?.type === 'string') visit(child);
    }
    parents.pop();
  };
  visit(parsed.program);
}

/** Every specifier that a file names, types included, with the offset of the import. */
function specifiersOf(file) {
  const { staticImports, staticExports } = file.parsed.module;
  const found = staticImports.map(({ moduleRequest, start }) => ({
    specifier: moduleRequest.value,
    offset: start,
  }));
  for (const { entries, start } of staticExports) {
    const request = entries.find(({ moduleRequest }) => moduleRequest)?.moduleRequest;
    if (request) found.push({ specifier: request.value, offset: start });
  }
  if (NEEDS_AST.test(file.text)) {
    walk(file, (node) => {
      const source = lateSource(node);
      if (typeof source?.value === 'string') {
        found.push({ specifier: source.value, offset: node.start });
      }
    });
  }
  return found;
}

/** The literal of `import('x')`, of the type `import('x')` and of `new URL('./x.ts', import.meta.url)`. */
function lateSource(node) {
  if (node.type === 'ImportExpression') return node.source;
  if (node.type === 'TSImportType') return node.source ?? node.argument?.literal;
  if (node.type !== 'NewExpression' || node.callee.name !== 'URL') return undefined;
  const [address] = node.arguments;
  return typeof address?.value === 'string' && /^\..*\.tsx?$/.test(address.value)
    ? address
    : undefined;
}

/**
 * The imports of a file: each with its line, and where it goes to: a `target` (a path of the tree), a `package`, a
 * module of Node, or a `builtin` that is asked for while the program runs. Virtual modules of the build are left out.
 */
export function importsOf(file) {
  const named = specifiersOf(file).filter(({ specifier }) => !specifier.startsWith('virtual:'));
  return [...named, ...builtinsOf(file, named)].map(({ specifier, offset, isBuiltin }) => ({
    specifier,
    line: lineAt(file, offset),
    ...(isBuiltin
      ? { builtin: specifier.slice('node:'.length) }
      : destination(file, specifier.replace(/\?.*$/, ''))),
  }));
}

/** Modules of Node that a file names without an import, for `process.getBuiltinModule`. Those of examples in comments do not count. */
function builtinsOf({ parsed, text }, named) {
  const imported = new Set(named.map(({ specifier }) => specifier));
  const isInComment = ({ offset }) =>
    parsed.comments.some(({ start, end }) => start <= offset && offset < end);
  return [...text.matchAll(/(['"])(node:[\w/]+)\1/g)]
    .map(({ 2: specifier, index }) => ({ specifier, offset: index, isBuiltin: true }))
    .filter((found) => !imported.has(found.specifier) && !isInComment(found));
}

function destination({ folder }, specifier) {
  if (specifier.startsWith('.')) return { target: posix.join(folder, specifier) };
  if (specifier.startsWith('node:')) return { isNode: true };
  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  if (name !== PACKAGE) return { package: name };
  return { target: `src/${parts[1] ?? 'index'}.ts`, isEntry: true };
}

/** The names that a file declares and exports itself, without those that it passes on. */
export function declaredExports({ parsed }) {
  const { staticImports, staticExports } = parsed.module;
  const imported = new Set(
    staticImports.flatMap(({ entries }) => entries.map(({ localName }) => localName.value)),
  );
  const names = staticExports
    .flatMap(({ entries }) => entries)
    .filter(({ moduleRequest, localName }) => !moduleRequest && !imported.has(localName.name))
    .map(({ exportName }) => exportName.name)
    .filter((name) => typeof name === 'string');
  return [...new Set(names)];
}

/** `name -> [target, name there]` of what a file passes on from other files. */
export function passedOn(file) {
  const { staticImports, staticExports } = file.parsed.module;
  const from = (request, name) => [destination(file, request.value).target, name];
  const imported = new Map(
    staticImports.flatMap(({ moduleRequest, entries }) =>
      entries.map(({ localName, importName }) => [
        localName.value,
        from(moduleRequest, importName.name),
      ]),
    ),
  );
  const found = new Map();
  for (const { moduleRequest, importName, localName, exportName } of staticExports.flatMap(
    ({ entries }) => entries,
  )) {
    if (moduleRequest)
      found.set(exportName.name ?? '*', from(moduleRequest, importName.name ?? '*'));
    else if (imported.has(localName.name)) found.set(exportName.name, imported.get(localName.name));
  }
  return found;
}
