// What a page gets of the package when it imports some names, bundled by Vite: at once, and after the parts that its first calls load.
import { rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const index = fileURLToPath(new URL('../dist/index.js', import.meta.url));

/**
 * The parts that `startRun` loads before it resolves, with the store that pages have by default: what the first `log` needs until it
 * returns, and what stores its row.
 */
const PARTS = /^chunk-(?:open-session|idb-store)-/;
/** What a session loads in the background once it is open, whether it is needed or not: the network may be gone later. */
const BACKGROUND = /^chunk-(?:merge-run|metric-records|events)-/;

/** The text of a page that imports names. */
const pageOf = (names) =>
  `import { ${names.join(', ')} } from ${JSON.stringify(index)};\nconsole.log(${names.join(', ')});\n`;

/** Does work with a page of these names in a folder of its own. */
export async function withPage(names, work) {
  const root = mkdtempSync(join(tmpdir(), 'quark-page-'));
  try {
    writeFileSync(join(root, 'main.js'), pageOf(names));
    return await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Bytes of an import of these names: `minified` and gzipped `atOnce`, gzipped with all that is loaded `untilFirstLog` has returned, and
 * gzipped with all that a session loads by itself.
 *
 * Until the row of that `log` is durable, nothing else is needed: a session writes the event of its start before `startRun` resolves, so
 * that what encodes and stores rows is there.
 */
export async function pageBytes(names) {
  const built = await withPage(names, (root) =>
    build({
      configFile: false,
      logLevel: 'error',
      root,
      build: {
        write: false,
        target: 'es2022',
        modulePreload: false,
        rolldownOptions: {
          input: join(root, 'main.js'),
          output: { entryFileNames: 'main.js', chunkFileNames: '[name].js' },
        },
      },
    }),
  );
  const chunks = new Map(
    [built]
      .flat()
      .flatMap(({ output }) => output)
      .filter(({ type }) => type === 'chunk')
      .map((chunk) => [chunk.fileName, chunk]),
  );
  const atOnce = new Set();
  const visit = (found) => (file) => {
    const chunk = chunks.get(file);
    if (chunk === undefined || found.has(chunk)) return;
    found.add(chunk);
    chunk.imports.forEach(visit(found));
  };
  visit(atOnce)('main.js');
  const untilFirstLog = new Set(atOnce);
  for (const { fileName, name } of chunks.values())
    if (PARTS.test(name)) visit(untilFirstLog)(fileName);
  const inAll = new Set(untilFirstLog);
  for (const { fileName, name } of chunks.values())
    if (BACKGROUND.test(name)) visit(inAll)(fileName);
  const minified = [...atOnce].reduce((sum, { code }) => sum + code.length, 0);
  return {
    minified,
    atOnce: gzipped(atOnce),
    untilFirstLog: gzipped(untilFirstLog),
    inAll: gzipped(inAll),
  };
}

const gzipped = (chunks) =>
  [...chunks].reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
