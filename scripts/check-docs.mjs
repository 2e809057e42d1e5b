// Every name that an entry exports has a comment saying what it is for. Read from the emitted declarations, so that
// what a user's editor shows is what is checked.
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync } from 'vite';
import { ENTRIES, sourceOf } from './entries.mjs';

const types = fileURLToPath(new URL('../dist/types/', import.meta.url));

const parsed = new Map();

function parse(file) {
  let found = parsed.get(file);
  if (found === undefined) {
    const text = readFileSync(file, 'utf8');
    const { program, comments, errors } = parseSync(file, text);
    if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0].message}`);
    found = { text, body: program.body, comments };
    parsed.set(file, found);
  }
  return found;
}

/** The file that a relative specifier of a declaration file means. */
const target = (file, specifier) => resolve(dirname(file), specifier.replace(/\.ts$/, '.d.ts'));

function namesDeclaredBy(declaration) {
  if (declaration.declarations) return declaration.declarations.map(({ id }) => id.name);
  return declaration.id ? [declaration.id.name] : [];
}

/** Whether a doc comment ends right before a node. */
function isDocumented({ text, comments }, node) {
  return comments.some(
    ({ type, value, end }) =>
      type === 'Block' &&
      value.startsWith('*') &&
      /[a-z]{3}/i.test(value) &&
      end <= node.start &&
      /^[^\S\n]*\n?[^\S\n]*$/.test(text.slice(end, node.start)),
  );
}

/** The exported names of a declaration file: name to whether it is documented, undefined where it is not found. */
function exportsOf(file, seen = new Set()) {
  const names = new Map();
  if (seen.has(file)) return names;
  seen.add(file);
  const module = parse(file);
  const imported = new Map();
  const local = new Map();
  for (const node of module.body) {
    const declaration = node.declaration ?? node;
    if (node.type === 'ImportDeclaration') {
      for (const specifier of node.specifiers)
        imported.set(specifier.local.name, node.source.value);
    } else if (node.type !== 'ExportNamedDeclaration' || node.declaration) {
      for (const name of namesDeclaredBy(declaration)) {
        local.set(name, local.get(name) || isDocumented(module, node));
        if (node.declaration) names.set(name, local.get(name));
      }
    }
  }
  for (const node of module.body) {
    if (node.type === 'ExportAllDeclaration') {
      for (const entry of exportsOf(target(file, node.source.value), seen)) names.set(...entry);
    } else if (node.type === 'ExportNamedDeclaration' && !node.declaration) {
      for (const specifier of node.specifiers) {
        const source = node.source?.value ?? imported.get(specifier.local.name);
        const known = source
          ? exportsOf(target(file, source), new Set(seen)).get(specifier.local.name)
          : local.get(specifier.local.name);
        names.set(specifier.exported.name, known);
      }
    }
  }
  return names;
}

/** The exported names of an entry, values and types, each with whether it has a comment. */
function namesOfEntry(entry) {
  const names = exportsOf(join(types, sourceOf(entry).replace(/\.ts$/, '.d.ts')));
  if (names.size === 0) throw new Error(`${entry}.d.ts exports nothing: the check reads nothing`);
  return names;
}

/** `entry: name` of every exported name without a comment. */
export function undocumentedNames() {
  return ENTRIES.flatMap((entry) =>
    [...namesOfEntry(entry)].filter(([, isKnown]) => !isKnown).map(([name]) => `${entry}: ${name}`),
  );
}

/** The exported names of each entry, values and types, in order. */
export function publicNames() {
  return Object.fromEntries(
    ENTRIES.map((entry) => [entry, [...namesOfEntry(entry).keys()].map(String).toSorted()]),
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const missing = undocumentedNames();
  if (missing.length > 0) {
    console.error(`Exported without a comment:\n  ${missing.join('\n  ')}`);
    process.exitCode = 1;
  }
  console.log(`${relative('.', types)}: ${missing.length} undocumented names`);
}
