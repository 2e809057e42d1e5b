// The rooms of the house, as rooms.json declares them:
//   npm run rooms                writes the table in ARCHITECTURE.md and the drawing
//   npm run rooms -- --check     fails where imports, folders, table, drawing or limits break the declaration
//   npm run rooms -- --figures   prints lines, long functions, parameters and names with several owners
//   npm run rooms -- --actual    prints what each room imports today
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readRooms } from './rooms-declared.mjs';
import { staleFiles, writeDerived } from './rooms-docs.mjs';
import { figureLines, figuresOf, limitErrors } from './rooms-figures.mjs';
import {
  actualImports,
  allImports,
  crowdedFolders,
  folderCycles,
  importErrors,
  unusedDeclarations,
} from './rooms-imports.mjs';
import { byText, readTree } from './rooms-tree.mjs';

const HERE = fileURLToPath(new URL('..', import.meta.url));

/** Everything in which a tree breaks its rooms.json, a text each. Empty where all is well. */
export function roomErrors(root) {
  const declared = readRooms(root);
  const files = readTree(root);
  const imports = allImports(files);
  const { rooms, limits } = declared;
  return [
    ...declared.errors,
    ...importErrors(imports, files, rooms),
    ...unusedDeclarations(imports, rooms),
    ...folderCycles(imports),
    ...crowdedFolders(files),
    ...staleFiles(root, declared),
    ...(Object.keys(limits).length > 0 ? limitErrors(limits, figuresOf(files)) : []),
  ];
}

/** Writes what is derived from the rooms.json of a tree. */
export function writeRooms(root) {
  writeDerived(root, readRooms(root));
}

/** Lines, long functions, parameters and names with several owners of a tree. */
export const treeFigures = (root) => figuresOf(readTree(root));

function printActual(root) {
  const { rooms } = readRooms(root);
  for (const [name, found] of actualImports(allImports(readTree(root)), rooms)) {
    const imports = [...found.imports].filter((other) => other !== name).toSorted(byText);
    console.log(
      JSON.stringify({
        name,
        imports,
        packages: [...found.packages].toSorted(byText),
        builtins: [...found.builtins].toSorted(byText),
        node: found.node,
      }),
    );
  }
}

function main([command]) {
  if (command === '--figures') console.log(figureLines(treeFigures(HERE)).join('\n'));
  else if (command === '--actual') printActual(HERE);
  else if (command === '--check') {
    const errors = roomErrors(HERE);
    for (const error of errors) console.error(error);
    console.log(`rooms: ${errors.length} broken rules`);
    process.exitCode = errors.length > 0 ? 1 : 0;
  } else if (command === undefined) writeRooms(HERE);
  else throw new Error(`${command} is not known; there are --check, --figures and --actual`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  main(process.argv.slice(2));
}
