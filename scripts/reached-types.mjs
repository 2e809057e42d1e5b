// What the entries of the package reach of its declarations, statement by statement: a file of the source exports as well what only other
// files of the source use, and a user's compiler and editor have no use for that.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseSync } from 'vite';

/** The declarations in front of a specifier: `./a.ts`, `./a.js` or `./a.d.ts`. */
const fileOf = (from, specifier) =>
  resolve(dirname(from), specifier.replace(/(?:\.d)?\.(?:ts|js)$/, '') + '.d.ts');

/** Names that a node refers to, and what it imports by `import('./a.ts').A`; those of members are left out. */
function* referencesIn(node) {
  if (Array.isArray(node)) {
    for (const one of node) yield* referencesIn(one);
  } else if (typeof node === 'object' && node !== null) {
    if (node.type === 'Identifier') yield { name: node.name };
    if (node.type === 'TSImportType')
      yield { source: node.source.value, name: leftmost(node.qualifier) };
    for (const [key, child] of Object.entries(node))
      if (key !== 'parent' && !(key === 'key' && node.computed !== true))
        yield* referencesIn(child);
  }
}

const leftmost = (name) => (name?.type === 'TSQualifiedName' ? leftmost(name.left) : name?.name);
const nameOf = (node) => node.name ?? node.value;

function declaredBy(node) {
  const declaration = node.declaration ?? node;
  if (declaration.declarations) return declaration.declarations.map(({ id }) => id.name);
  return declaration.id ? [declaration.id.name] : [];
}

/** What statements of a file import and hand on: specifiers, by the name that they give. */
function* passedBy(node) {
  for (const specifier of node.specifiers ?? []) {
    const [own, original] =
      node.type === 'ImportDeclaration'
        ? [specifier.local, specifier.imported]
        : [specifier.exported, specifier.local];
    yield { own: nameOf(own), node, specifier, name: original && nameOf(original) };
  }
}

/** A declaration file: its statements by the name that they declare, and where other names come from. */
function read(file) {
  if (!existsSync(file)) throw new Error(`${file} is missing. Run "tsc -p tsconfig.build.json".`);
  const text = readFileSync(file, 'utf8');
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0].message}`);
  const { body } = program;
  return {
    text,
    body,
    passed: byName(
      body.flatMap((node) => [...passedBy(node)]),
      ({ own }) => [own],
    ),
    local: byName(body, declaredBy),
    stars: body.filter(({ type }) => type === 'ExportAllDeclaration'),
  };
}

function byName(all, namesOf) {
  const found = new Map();
  for (const one of all)
    for (const name of namesOf(one)) found.set(name, [...(found.get(name) ?? []), one]);
  return found;
}

/** Walks from the entries to all that they name. */
class Walk {
  #modules = new Map();
  /** By file: statements, and specifiers of imports and exports, that are needed. */
  needed = new Map();

  module(file) {
    let found = this.#modules.get(file);
    if (found === undefined) this.#modules.set(file, (found = read(file)));
    return found;
  }

  #isNew(file, node) {
    const nodes = this.needed.get(file) ?? new Set();
    this.needed.set(file, nodes);
    if (nodes.has(node)) return false;
    nodes.add(node);
    return true;
  }

  whole(file) {
    const module = this.module(file);
    for (const name of [...module.passed.keys(), ...module.local.keys()]) this.name(file, name);
    for (const star of module.stars) {
      this.#isNew(file, star);
      this.whole(fileOf(file, star.source.value));
    }
  }

  /** @returns whether the file has the name */
  name(file, name) {
    const module = this.module(file);
    const passed = module.passed.get(name) ?? [];
    const own = module.local.get(name) ?? [];
    for (const node of own) if (this.#isNew(file, node)) this.#references(file, node);
    for (const one of passed) this.#passed(file, one);
    if (passed.length + own.length > 0) return true;
    return module.stars.some((star) => {
      const isThere = this.name(fileOf(file, star.source.value), name);
      if (isThere) this.#isNew(file, star);
      return isThere;
    });
  }

  #passed(file, { node, specifier, name }) {
    if (!this.#isNew(file, specifier)) return;
    if (!node.source) this.name(file, name);
    else if (node.source.value.startsWith('.')) this.#from(fileOf(file, node.source.value), name);
  }

  /** A name of a file, or all of them where there is none. */
  #from(file, name) {
    if (name === undefined) this.whole(file);
    else if (!this.name(file, name)) throw new Error(`${file} does not export ${name}.`);
  }

  #references(file, node) {
    for (const { name, source } of referencesIn(node)) {
      if (source === undefined) this.name(file, name);
      else if (source.startsWith('.')) this.#from(fileOf(file, source), name);
    }
  }
}

const spelled = (specifier, text) => text.slice(specifier.start, specifier.end);

/** A statement with the specifiers that are needed; undefined where none is. */
function trimmed(node, needed, text) {
  const whole = text.slice(node.start, node.end);
  if (!node.specifiers || node.declaration) return needed.has(node) ? whole : undefined;
  // `export {}`: without it, all that is declared counts as exported.
  if (node.specifiers.length === 0) return whole;
  const kept = node.specifiers.filter((one) => needed.has(one));
  if (kept.length === 0) return undefined;
  const isListed = kept.every(({ type }) => /^(?:Im|Ex)portSpecifier$/.test(type));
  if (kept.length === node.specifiers.length || !isListed) return whole;
  const [first] = node.specifiers;
  const head = text.slice(node.start, first.start).trimEnd();
  const tail = node.source ? ` from ${spelled(node.source, text)};` : ';';
  return `${head} ${kept.map((one) => spelled(one, text)).join(', ')} }${tail}`;
}

/** The text of a file with what is needed of it, each statement with the comment before it. */
function written({ body, text }, needed) {
  const parts = text.match(/^\/\/\/ <reference.*$/gm) ?? [];
  let end = 0;
  for (const node of body) {
    const before = text
      .slice(end, node.start)
      .replaceAll(/^\/\/\/ <reference.*$/gm, '')
      .trim();
    const said = trimmed(node, needed, text);
    if (said !== undefined) parts.push(...(before === '' ? [] : [before]), said);
    end = node.end;
  }
  return `${parts.join('\n')}\n`;
}

/**
 * The texts of the declaration files that the entries reach, without what they do not reach.
 *
 * @returns a map of paths
 */
export function reachedTypes(entries) {
  const walk = new Walk();
  for (const entry of entries) walk.whole(entry);
  return new Map(
    [...walk.needed].map(([file, needed]) => [file, written(walk.module(file), needed)]),
  );
}
