// The names that the entries of the package export, read from the emitted declarations: what a user's editor shows.
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';
import { sourceOf } from './entries.mjs';

/** The folder of the declarations. */
export const types = fileURLToPath(new URL('../dist/types/', import.meta.url));

const parsed = new Map();

function parse(file) {
  let found = parsed.get(file);
  if (found === undefined) {
    const text = readFileSync(file, 'utf8');
    const { program, comments, errors } = parseSync(file, text);
    if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0].message}`);
    const docs = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'));
    found = { file, text, body: program.body, docs };
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

/** The doc comment that ends right before a node. */
const commentBefore = ({ text, docs }, node) =>
  docs.find(
    ({ end }) => end <= node.start && /^[^\S\n]*\n?[^\S\n]*$/.test(text.slice(end, node.start)),
  )?.value;

/** The comment of a declaration and those of its members, with what overloads before it have. */
function described(module, node, name, before) {
  const comment = commentBefore(module, node);
  const inside = module.docs.filter(({ start, end }) => node.start <= start && end <= node.end);
  return {
    name,
    file: module.file,
    nodes: [...(before?.nodes ?? []), node.declaration ?? node],
    isDocumented: before?.isDocumented === true || /[a-z]{3}/i.test(comment ?? ''),
    comments: [
      ...(before?.comments ?? []),
      ...(comment === undefined ? [] : [comment]),
      ...inside.map(({ value }) => value),
    ],
  };
}

/**
 * What a declaration file knows by name: its own declarations, and where those come from that it imports.
 *
 * @returns `exported` are those of its own that it exports where it declares them
 */
function scopeOf(file) {
  const module = parse(file);
  const imported = new Map();
  const local = new Map();
  const exported = new Map();
  for (const node of module.body) {
    const declaration = node.declaration ?? node;
    if (node.type === 'ImportDeclaration') {
      for (const { imported: original, local: own } of node.specifiers)
        imported.set(own.name, { name: original?.name, source: node.source.value });
    } else if (node.type !== 'ExportNamedDeclaration' || node.declaration) {
      for (const name of namesDeclaredBy(declaration)) {
        local.set(name, described(module, node, name, local.get(name)));
        if (node.declaration) exported.set(name, local.get(name));
      }
    }
  }
  return { exported, imported, local };
}

/** The declaration that a name means in a declaration file; undefined where it is of another package or of the language. */
export function meantBy(file, name) {
  const { imported, local } = scopeOf(file);
  const from = imported.get(name);
  if (from === undefined) return local.get(name);
  return from.source.startsWith('.')
    ? exportsOf(target(file, from.source)).get(from.name)
    : undefined;
}

/** The exported names of a declaration file: name to its declaration, undefined where it is not found. */
function exportsOf(file, seen = new Set()) {
  if (seen.has(file)) return new Map();
  seen.add(file);
  const { exported: names, imported, local } = scopeOf(file);
  for (const node of parse(file).body) {
    if (node.type === 'ExportAllDeclaration') {
      for (const entry of exportsOf(target(file, node.source.value), seen)) names.set(...entry);
    } else if (node.type === 'ExportNamedDeclaration' && !node.declaration) {
      for (const specifier of node.specifiers) {
        const source = node.source?.value ?? imported.get(specifier.local.name)?.source;
        const known = source
          ? exportsOf(target(file, source), new Set(seen)).get(specifier.local.name)
          : local.get(specifier.local.name);
        names.set(specifier.exported.name, known);
      }
    }
  }
  return names;
}

/** The exported names of an entry, values and types, each with its declaration. */
export function namesOfEntry(entry) {
  const names = exportsOf(join(types, sourceOf(entry).replace(/\.ts$/, '.d.ts')));
  if (names.size === 0) throw new Error(`${entry}.d.ts exports nothing: the check reads nothing`);
  return names;
}
