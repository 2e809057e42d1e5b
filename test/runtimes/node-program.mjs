// The walk in a runtime with Node's modules: Node, Bun, Deno, and Node with the globals of jsdom. Prints one line of JSON.
import { walk } from './program.mjs';

const [folder, ...subpaths] = process.argv.slice(2);
const failures = [];
for (const subpath of subpaths) {
  const specifier = subpath === 'index' ? 'quark-sdk' : `quark-sdk/${subpath}`;
  await import(specifier).catch((error) => failures.push(`${specifier}: ${error.message}`));
}
const said = await walk({ storageDir: folder }, folder);
console.log(JSON.stringify({ entries: failures.length === 0 || failures.join('; '), ...said }));
process.exit(0);
