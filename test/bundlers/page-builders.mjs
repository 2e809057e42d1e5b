// Bundlers that a page is built with. Each builds `main.js` of a folder as a user would, minified, and gives the bytes that the page
// loads at once: without what is imported dynamically, where the bundler makes files of it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { minifySync } from 'vite';
import { pageBytes, withPage } from '../../scripts/page-bytes.mjs';

const webpack = async (root) => {
  const { default: begin } = await import('webpack');
  const stats = await new Promise((resolve, reject) => {
    begin(
      {
        context: root,
        mode: 'production',
        target: ['web', 'es2022'],
        entry: './main.js',
        output: { path: join(root, 'out'), filename: 'main.js' },
        performance: { hints: false },
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    );
  });
  const { entrypoints, errors } = stats.toJson({ all: false, errors: true, entrypoints: true });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return entrypoints.main.assets.reduce((sum, { size }) => sum + size, 0);
};

const esbuild = async (root) => {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['main.js'],
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    outdir: 'out',
    logLevel: 'silent',
  });
  return outputFiles.reduce((sum, { contents }) => sum + contents.length, 0);
};

const rollup = async (root) => {
  const [{ rollup: begin }, { nodeResolve }] = await Promise.all([
    import('rollup'),
    import('@rollup/plugin-node-resolve'),
  ]);
  const bundle = await begin({
    input: join(root, 'main.js'),
    plugins: [nodeResolve({ browser: true })],
    onLog: () => undefined,
  });
  await bundle.write({ dir: join(root, 'out'), format: 'es', chunkFileNames: '[hash].js' });
  await bundle.close();
  return closure(join(root, 'out'), 'main.js').reduce((sum, text) => sum + text.length, 0);
};

/** The minified texts of a file and of those that it imports statically. */
function closure(folder, entry) {
  const names = new Set(readdirSync(folder));
  const found = new Map();
  const visit = (name) => {
    if (found.has(name) || !names.has(name)) return;
    const { code } = minifySync(name, readFileSync(join(folder, name), 'utf8'), { module: true });
    found.set(name, code);
    for (const [, path] of code.matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g)) visit(path);
  };
  visit(entry);
  return [...found.values()];
}

const inFolder = (bundle) => async (names) => withPage(names, bundle);

/** By name: the bytes of a page that imports these names. esbuild makes one file, with what is imported dynamically. */
export const PAGE_BUILDERS = {
  Vite: async (names) => (await pageBytes(names)).minified,
  webpack: inFolder(webpack),
  esbuild: inFolder(esbuild),
  Rollup: inFolder(rollup),
};
