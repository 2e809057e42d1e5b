// Bundlers that a page is built with, to be opened in a browser. Each builds `index.html` with `main.js` of a folder as a user would, and
// gives the folder that is served.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUN } from './builders.mjs';

const PARCEL = fileURLToPath(new URL('node_modules/parcel/lib/bin.js', import.meta.url));

/** A folder with the page, for bundlers that make scripts only. */
function outOf(root) {
  const out = join(root, 'out');
  mkdirSync(out, { recursive: true });
  copyFileSync(join(root, 'index.html'), join(out, 'index.html'));
  return out;
}

const vite =
  (settings = {}) =>
  async (root) => {
    const { build } = await import('vite');
    await build({ root, configFile: false, logLevel: 'error', ...settings });
    return join(root, 'dist');
  };

/** webpack and Rspack take the same settings. */
const packed = (load) => async (root) => {
  const bundler = await load();
  const out = outOf(root);
  const stats = await new Promise((resolve, reject) => {
    bundler(
      {
        context: root,
        mode: 'production',
        entry: './main.js',
        output: { path: out, filename: 'main.js' },
        optimization: { minimize: false },
        performance: { hints: false },
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    );
  });
  const { errors } = stats.toJson({ all: false, errors: true });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return out;
};

const esbuild = (splitting) => async (root) => {
  const { build } = await import('esbuild');
  const out = outOf(root);
  await build({
    absWorkingDir: root,
    entryPoints: ['main.js'],
    bundle: true,
    format: 'esm',
    splitting,
    outdir: out,
    logLevel: 'silent',
  });
  return out;
};

const rollup = async (root) => {
  const [{ rollup: begin }, resolve, commonjs, json] = await Promise.all([
    import('rollup'),
    import('@rollup/plugin-node-resolve'),
    import('@rollup/plugin-commonjs'),
    import('@rollup/plugin-json'),
  ]);
  const out = outOf(root);
  const bundle = await begin({
    input: join(root, 'main.js'),
    plugins: [resolve.nodeResolve({ browser: true }), commonjs.default(), json.default()],
    onLog: () => undefined,
  });
  await bundle.write({ dir: out, format: 'es', entryFileNames: 'main.js' });
  await bundle.close();
  return out;
};

const parcel = async (root) => {
  const out = join(root, 'out');
  // As its documents say for packages with "exports".
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({
      private: true,
      type: 'module',
      '@parcel/resolver-default': { packageExports: true },
    }),
  );
  const options = ['--no-cache', '--no-source-maps', '--no-autoinstall', '--public-url', './'];
  execFileSync(process.execPath, [PARCEL, 'build', 'index.html', '--dist-dir', out, ...options], {
    cwd: root,
    stdio: 'pipe',
  });
  return out;
};

const bun = async (root) => {
  const out = outOf(root);
  execFileSync(
    BUN,
    ['build', 'main.js', '--target=browser', '--format=esm', '--splitting', `--outdir=${out}`],
    { cwd: root, stdio: 'pipe' },
  );
  return out;
};

/** By name, with what the user sets. */
export const APP_BUILDERS = {
  'Vite, client': vite(),
  'webpack, web': packed(async () => (await import('webpack')).default),
  'Rspack, web': packed(async () => (await import('@rspack/core')).rspack),
  'Rollup, browser': rollup,
  'esbuild, one file': esbuild(false),
  'esbuild, splitting': esbuild(true),
  'Parcel, packageExports': parcel,
  'Bun, target browser, splitting': bun,
};

/** A page whose worker imports the package: `worker.js` beside `main.js`. */
export const WORKER_BUILDERS = {
  "Vite, worker with worker.format 'es'": vite({ worker: { format: 'es' } }),
  'Vite, worker of quark.min.js, default format': vite(),
};
