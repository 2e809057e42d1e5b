// The public names of every entry, as TypeDoc reads them from the sources, and where each has its page.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { Application } from 'typedoc';
import { ENTRIES, sourceOf } from '../../../scripts/entries.mjs';
import { root } from '../pages/navigation.mjs';

/** Kinds of TypeDoc, by the number in its JSON. */
export const KINDS = createRequire(import.meta.url)('typedoc').ReflectionKind;

/** The groups of an entry, in order: what is in each, and whether every name of it has a page of its own. */
export const GROUPS = [
  { id: 'classes', title: 'Classes', kinds: [KINDS.Class], isPaged: true },
  { id: 'functions', title: 'Functions', kinds: [KINDS.Function] },
  { id: 'types', title: 'Types', kinds: [KINDS.Interface, KINDS.TypeAlias, KINDS.Enum] },
  { id: 'constants', title: 'Constants', kinds: [KINDS.Variable] },
];

const folderOf = (entry) =>
  `reference/${entry === 'index' ? 'quark-sdk' : entry.replace('/', '-')}`;

/** What the entry is imported by. */
export const importOf = (entry) => (entry === 'index' ? 'quark-sdk' : `quark-sdk/${entry}`);

/** The comment at the beginning of an entry. */
function commentOf(entry) {
  const text = readFileSync(join(root, 'src', sourceOf(entry)), 'utf8');
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1];
  if (comment === undefined)
    throw new Error(`src/${sourceOf(entry)} does not begin with a comment.`);
  return comment
    .replaceAll(/^\s*\* ?/gm, '')
    .replaceAll(/\{@link ([^}|]+?)\}/g, '`$1`')
    .trim();
}

/**
 * Reads sources so that the comment at the beginning of an entry is that of the module: TypeDoc takes it for the comment of the first name
 * that the entry exports, unless it has the tag.
 *
 * @returns the undo
 */
function markEntries() {
  const read = ts.sys.readFile.bind(ts.sys);
  const entries = new Set(
    ENTRIES.map((entry) => join(root, 'src', sourceOf(entry)).replaceAll('\\', '/')),
  );
  ts.sys.readFile = (path, encoding) => {
    const text = read(path, encoding);
    return entries.has(path.replaceAll('\\', '/'))
      ? text?.replace(/^(\/\*\*[\s\S]*?)\*\//, '$1\n * @module\n */')
      : text;
  };
  return () => {
    ts.sys.readFile = read;
  };
}

async function convert() {
  const application = await Application.bootstrap({
    entryPoints: ENTRIES.map((entry) => join(root, 'src', sourceOf(entry))),
    tsconfig: join(root, 'tsconfig.build.json'),
    // "npm run types" does that; and kernels may not be compiled yet.
    skipErrorChecking: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    disableSources: true,
    sort: ['source-order'],
    logLevel: 'Error',
  });
  const undo = markEntries();
  const project = await application.convert();
  undo();
  if (!project) throw new Error('TypeDoc read nothing: see its messages above.');
  return application.serializer.projectToObject(project, process.cwd());
}

/** Everything that a comment can link to: the names, and the members of classes and types, by the number that TypeDoc gives them. */
function addressesOf(entries) {
  const addresses = new Map();
  const addMembers = (item, path) => {
    for (const member of [...(item.children ?? []), ...(item.type?.declaration?.children ?? [])]) {
      addresses.set(member.id, `${path}#${memberAnchor(member)}`);
      for (const signature of member.signatures ?? [])
        addresses.set(signature.id, addresses.get(member.id));
    }
  };
  for (const { groups } of entries)
    for (const { names } of groups)
      for (const { item, address, isOwnPage } of names) {
        addresses.set(item.id, address);
        for (const signature of item.signatures ?? []) addresses.set(signature.id, address);
        if (isOwnPage) addMembers(item, address);
      }
  return addresses;
}

/** The anchor of a member on the page of its class: static ones may have the names of others. */
export const memberAnchor = ({ name, flags }) =>
  (flags.isStatic === true ? 'static-' : '') + anchorOf(name);

/** A name as an anchor: brackets and dots of `[asyncDispose]` are left out. */
export const anchorOf = (name) => name.replaceAll(/[^\w$-]/g, '');

/**
 * The reference: `entries` with `groups` of names, and `addresses` by the number of TypeDoc. A name that several entries export has its
 * text in the first, and the others lead there.
 */
export async function readReference() {
  const project = await convert();
  const modules = new Map(project.children.map((module) => [module.name, module]));
  const entries = ENTRIES.map((entry) => {
    const module = modules.get(sourceOf(entry).replace(/\.ts$/, ''));
    if (module === undefined) throw new Error(`TypeDoc has no entry ${entry}.`);
    const folder = folderOf(entry);
    const groups = GROUPS.map((group) => ({
      ...group,
      address: `${folder}/${group.id}.html`,
      names: module.children
        .filter(({ kind }) => group.kinds.includes(kind))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map((item) => ({
          item,
          isOwnPage: group.isPaged === true,
          address: group.isPaged
            ? `${folder}/${item.name}.html`
            : `${folder}/${group.id}.html#${anchorOf(item.name)}`,
        })),
    })).filter(({ names }) => names.length > 0);
    const others = module.children.filter(({ kind }) => kind === KINDS.Reference);
    return {
      entry,
      title: importOf(entry),
      address: `${folder}/index.html`,
      comment: commentOf(entry),
      groups,
      others,
    };
  });
  return { entries, addresses: addressesOf(entries) };
}
