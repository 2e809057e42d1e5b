// After `tsc -p tsconfig.build.json`: leaves in dist/types what the entries of the package reach, declares the globals that they name, and spells generic typed arrays so that
// TypeScript before 5.7, whose typed arrays have no parameter, reads them as well. Newer ones read the same types as the source has.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRIES, sourceOf } from './entries.mjs';
import { checkBare, globalTypes } from './global-types.mjs';
import { reachedTypes } from './reached-types.mjs';

const types = fileURLToPath(new URL('../dist/types/', import.meta.url));
/** `Uint8Array<ArrayBuffer>` is what `Uint8Array.of` returns, in every release. */
const OWN_BUFFER = /\b((?:Big)?(?:Uint|Int|Float)\d+(?:Clamped)?Array)<ArrayBuffer>/g;
const ANY_BUFFER = /\b((?:Big)?(?:Uint|Int|Float)\d+(?:Clamped)?Array)<ArrayBufferLike>/g;

/** The declarations of what package.json exports. */
const entries = [...ENTRIES.map(sourceOf), 'one-file.ts'].map((name) =>
  join(types, name.replace(/\.ts$/, '.d.ts')),
);

/** The types of a package that the user may lack: they are `any` then, where TypeScript would refuse the whole program. */
const LACKED = /^(?!\s*\*)(?=.*['"]apache-arrow['"])/gm;

const GLOBALS = '/// <reference path="./globals.d.ts" />\n';
const kept = reachedTypes(entries);
for (const entry of readdirSync(types, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (entry.isFile() && !kept.has(file)) rmSync(file);
}
const texts = [...kept].map(([file, text]) => {
  const spelled = text
    .replace(OWN_BUFFER, "ReturnType<$1Constructor['of']>")
    .replace(ANY_BUFFER, '$1')
    .replace(LACKED, '// @ts-ignore\n');
  const written = entries.includes(file) ? GLOBALS + spelled : spelled;
  writeFileSync(file, written);
  return written;
});
writeFileSync(join(types, 'globals.d.ts'), globalTypes(texts));
checkBare(entries);
