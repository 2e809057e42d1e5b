// Plain JavaScript from a source file, for what runs outside the test runner: child processes, pages, benchmarks.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build, runnerImport } from 'vite';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The plugin that makes the text of a worker, which is TypeScript. */
let seams;
const inlineWorker = async () => {
  seams ??= runnerImport(join(ROOT, 'scripts/vite-plugins.ts'));
  return (await seams).module.inlineWorker();
};

/**
 * Bundles `entry` (a path from the root of the repository) to one ES module in a new folder and returns its path. Node
 * modules, and what Node loads natively, stay imports when `forNode` is true.
 *
 * @param {string} entry
 * @param {{ forNode?: boolean, folder?: string }} [options]
 * @returns {Promise<string>}
 */
export async function bundle(entry, { forNode = true, folder } = {}) {
  const outDir = folder ?? (await mkdtemp(join(tmpdir(), 'quark-bundle-')));
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    publicDir: false,
    plugins: [await inlineWorker()],
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      minify: false,
      reportCompressedSize: false,
      lib: { entry: join(ROOT, entry), formats: ['es'], fileName: () => 'bundle.mjs' },
      rolldownOptions: {
        // Tests open databases by these themselves; neither can be in a bundle.
        external: forNode ? [/^node:/, 'libsql', 'pg'] : [],
        output: { codeSplitting: false },
      },
    },
  });
  return join(outDir, 'bundle.mjs');
}
