// The rules of imports: who may import whom, no cycle between folders, no crowded folder.
import { byText, importsOf } from './rooms-tree.mjs';
import { roomOf } from './rooms-declared.mjs';

/** Files that may lie side by side in one folder. */
const MAX_FILES = 30;
const top = (path) => path.slice(0, path.indexOf('/'));

/** Every import of the tree, with the file that has it. */
export const allImports = (files) =>
  files
    .filter(({ isCode }) => isCode)
    .flatMap((file) => importsOf(file).map((entry) => ({ file, ...entry })));

/** What each room really imports: rooms, packages and whether it names modules of Node. */
export function actualImports(imports, rooms) {
  const found = new Map(
    rooms.map(({ name }) => [
      name,
      { imports: new Set(), packages: new Set(), builtins: new Set(), node: false },
    ]),
  );
  for (const { file, target, isNode, builtin, package: name } of imports) {
    const room = found.get(roomOf(file.path, rooms)?.name);
    if (room === undefined) continue;
    if (builtin) room.builtins.add(builtin);
    else if (isNode) room.node = true;
    else if (name) room.packages.add(name);
    else room.imports.add(roomOf(target, rooms)?.name ?? target);
  }
  return found;
}

export function importErrors(imports, files, rooms) {
  const errors = files
    .filter(({ path, isCode }) => isCode && !roomOf(path, rooms))
    .map(({ path }) => `${path}: belongs to no room of rooms.json`);
  for (const entry of imports) {
    const room = roomOf(entry.file.path, rooms);
    const rule = room && brokenRule(entry, room, rooms);
    if (rule) {
      errors.push(`${entry.file.path}:${entry.line}: imports '${entry.specifier}', but ${rule}`);
    }
  }
  return errors;
}

/** The rule that an import breaks, undefined where it breaks none. */
function brokenRule(entry, room, rooms) {
  const { file, target, isNode, builtin, isEntry, package: name } = entry;
  const { packages, mayImport } = room;
  if (builtin) {
    return room.node || room.builtins.includes(builtin)
      ? undefined
      : `room ${room.name} may ask for only these modules of Node: ${room.builtins.join(', ') || 'none'}`;
  }
  if (isNode) return room.node ? undefined : `room ${room.name} may not name modules of Node`;
  if (name) {
    return packages.includes(name)
      ? undefined
      : `room ${room.name} may use only these packages: ${packages.join(', ') || 'none'}`;
  }
  const isInside = top(file.path) === 'src';
  if (isEntry && isInside) return 'files of src import each other by path';
  if (!isEntry && !isInside && top(target) === 'src' && !mayImport.has(target)) {
    return "files outside of src reach it as 'quark-sdk'";
  }
  const owner = roomOf(target, rooms);
  if (owner === undefined) return 'that is in no room';
  if (owner === room || mayImport.has(owner.name) || mayImport.has(target)) return undefined;
  return `room ${room.name} may import only: ${room.imports.join(', ') || 'no other room'}`;
}

/** What a room declares and does not need. */
export function unusedDeclarations(imports, rooms) {
  const actual = actualImports(imports, rooms);
  const targets = new Set(
    imports.map(({ file, target }) => `${roomOf(file.path, rooms)?.name} ${target}`),
  );
  return rooms.flatMap((room) => {
    const used = actual.get(room.name);
    const where = `rooms.json, room ${room.name}`;
    const isUsed = (item) =>
      item === '*' ||
      targets.has(`${room.name} ${item}`) ||
      used.imports.has(item) ||
      (item.endsWith('/*') && [...used.imports].some((name) => name.startsWith(item.slice(0, -1))));
    return [
      ...room.imports
        .filter((item) => !isUsed(item))
        .map((item) => `${where}: nothing imports ${item}`),
      ...room.packages
        .filter((name) => !used.packages.has(name))
        .map((name) => `${where}: nothing uses the package ${name}`),
      ...room.builtins
        .filter((name) => !used.builtins.has(name))
        .map((name) => `${where}: nothing asks for ${name}`),
      ...(room.node && !used.node ? [`${where}: nothing names a module of Node`] : []),
    ];
  });
}

/** Folders with more files side by side than one can look over. */
export function crowdedFolders(files) {
  const counts = new Map();
  for (const { folder } of files) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(
      ([folder, count]) =>
        `${folder}: ${count} files side by side, at most ${MAX_FILES} are allowed`,
    );
}

const folderOf = (path) => path.slice(0, path.lastIndexOf('/'));

/** Cycles of imports between folders, types included. Each is told by the shortest way around and one import a step. */
export function folderCycles(imports) {
  const graph = new Map();
  for (const { file, line, target, specifier } of imports) {
    if (target === undefined || folderOf(target) === file.folder) continue;
    const edges = graph.get(file.folder) ?? new Map();
    graph.set(file.folder, edges);
    const edge = edges.get(folderOf(target)) ?? { count: 0, example: '' };
    edges.set(folderOf(target), {
      count: edge.count + 1,
      example: edge.example || `${file.path}:${line} imports '${specifier}'`,
    });
  }
  const errors = [];
  const told = new Set();
  for (const start of [...graph.keys()].toSorted(byText)) {
    if (told.has(start)) continue;
    const way = shortestWayBack(graph, start);
    if (way === undefined) continue;
    for (const folder of way) told.add(folder);
    const steps = way.map((folder, index) => {
      const { count, example } = graph.get(folder).get(way[index + 1] ?? start);
      return `    ${example}${count > 1 ? ` (one of ${count})` : ''}`;
    });
    errors.push(
      `${[...way, start].join(' -> ')}: folders import each other in a circle\n${steps.join('\n')}`,
    );
  }
  return errors;
}

/** The folders on the shortest way from a folder back to itself, undefined where there is none. */
function shortestWayBack(graph, start) {
  const ways = [[start]];
  const reached = new Set();
  for (const way of ways) {
    for (const next of graph.get(way.at(-1))?.keys() ?? []) {
      if (next === start) return way;
      if (!reached.has(next)) {
        reached.add(next);
        ways.push([...way, next]);
      }
    }
  }
  return undefined;
}
