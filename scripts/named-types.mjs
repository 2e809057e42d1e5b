// Types that a public signature names and that no entry exports: a user could not write down what a function takes or gives.
import { meantBy, namesOfEntry } from './declared-names.mjs';
import { ENTRIES } from './entries.mjs';

const idOf = ({ file, name }) => `${file}: ${name}`;

/** `entry: name names Type` of every type in the signature of a public function or class that cannot be imported. */
export function unreachableTypes() {
  const entries = ENTRIES.map((entry) => ({ entry, known: [...namesOfEntry(entry).values()] }));
  const reachable = new Set(entries.flatMap(({ known }) => known.map(idOf)));
  const found = new Map();
  for (const { entry, known } of entries)
    for (const { file, name, nodes } of known)
      for (const type of nodes.flatMap(typesIn)) {
        const meant = meantBy(file, type);
        if (meant === undefined || reachable.has(idOf(meant)) || found.has(idOf(meant))) continue;
        found.set(idOf(meant), `${entry}: ${name} names ${type}`);
      }
  return [...found.values()];
}

/** Names of types in the signatures of a function, a class or an interface; what an alias is made of is shown by editors. */
function typesIn(node) {
  if (
    node.type === 'TSDeclareFunction' ||
    node.type === 'ClassDeclaration' ||
    node.type === 'TSInterfaceDeclaration'
  )
    return [...referencesIn(node, new Set())];
  return [];
}

function* referencesIn(node, generic) {
  if (Array.isArray(node)) {
    for (const one of node) yield* referencesIn(one, generic);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  if (node.accessibility === 'private' || node.key?.type === 'PrivateIdentifier') return;
  const own = new Set(generic);
  for (const { name } of node.typeParameters?.params ?? []) if (name?.name) own.add(name.name);
  if (
    node.type === 'TSTypeReference' &&
    node.typeName.type === 'Identifier' &&
    !own.has(node.typeName.name)
  )
    yield node.typeName.name;
  for (const [key, child] of Object.entries(node))
    if (key !== 'parent') yield* referencesIn(child, own);
}
