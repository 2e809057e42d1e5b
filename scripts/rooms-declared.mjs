// rooms.json: its form, and the room of a file.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const KEYS = ['$comment', 'rooms', 'arrows', 'limits'];
const ROOM_KEYS = ['name', 'folders', 'purpose', 'imports', 'packages', 'node', 'builtins', 'draw'];
/** The end of a folder of which a room has only the files that lie in it directly. */
const DIRECT = '/*.ts';

/** The declared rooms, from the inside to the outside, with their imports spelled out, and what is wrong with the declaration. */
export function readRooms(root) {
  const declared = JSON.parse(readFileSync(join(root, 'rooms.json'), 'utf8'));
  const errors = unknownKeys('rooms.json', declared, KEYS);
  const rooms = [];
  for (const room of declared.rooms) {
    errors.push(...formErrors(root, room, rooms));
    rooms.push({
      ...room,
      packages: room.packages ?? [],
      builtins: room.builtins ?? [],
      mayImport: new Set(room.imports.flatMap((name) => namedBy(name, rooms))),
    });
  }
  const drawn = new Set(rooms.filter(({ draw }) => draw).map(({ name }) => name));
  for (const [from, to] of declared.arrows ?? []) {
    for (const name of [from, to]) {
      if (!drawn.has(name)) errors.push(`rooms.json: an arrow names ${name}, which is not drawn`);
    }
  }
  const arrows = (declared.arrows ?? []).filter(([from, to]) => drawn.has(from) && drawn.has(to));
  return { rooms, arrows, limits: declared.limits ?? {}, errors };
}

const unknownKeys = (where, object, known) =>
  Object.keys(object)
    .filter((key) => !known.includes(key))
    .map((key) => `${where}: ${key} is not a known key; known are ${known.join(', ')}`);

function formErrors(root, room, above) {
  const where = `rooms.json, room ${room.name}`;
  const errors = unknownKeys(where, room, ROOM_KEYS);
  if (above.some(({ name }) => name === room.name)) errors.push(`${where}: declared twice`);
  if (!/^[A-Z].*\.$/.test(room.purpose)) errors.push(`${where}: the purpose is one sentence`);
  if (room.node && !/^cli$|\/node$/.test(room.name)) {
    errors.push(`${where}: only cli and rooms called node may name modules of Node`);
  }
  for (const folder of room.folders) {
    if (!existsSync(join(root, folder.replace(DIRECT, '')))) {
      errors.push(`${where}: there is no folder ${folder}`);
    }
  }
  for (const name of room.imports) {
    if (isFile(name)) {
      const owner = roomOf(name, above);
      if (!existsSync(join(root, name))) errors.push(`${where}: there is no file ${name}`);
      else if (!owner) errors.push(`${where}: ${name} is in no room above this one`);
    } else if (namedBy(name, above).length === 0) {
      errors.push(`${where}: imports ${name}, which is no room above it (rooms import inwards)`);
    }
  }
  return errors;
}

const isFile = (name) => /\.tsx?$/.test(name);

/** What an item of `imports` stands for: a file, a room, the rooms in a room, or all. */
function namedBy(item, rooms) {
  if (isFile(item)) return [item];
  const names = rooms.map(({ name }) => name);
  if (item === '*') return names;
  return item.endsWith('/*')
    ? names.filter((name) => name.startsWith(item.slice(0, -1)))
    : names.filter((name) => name === item);
}

/** The room that a file belongs to: the one with the longest folder around it. */
export function roomOf(path, rooms) {
  let found;
  let longest = -1;
  for (const room of rooms) {
    for (const folder of room.folders) {
      const isIn = folder.endsWith(DIRECT)
        ? path.lastIndexOf('/') === folder.length - DIRECT.length &&
          path.startsWith(folder.slice(0, -DIRECT.length))
        : path.startsWith(`${folder}/`);
      if (isIn && folder.length > longest) {
        found = room;
        longest = folder.length;
      }
    }
  }
  return found;
}
