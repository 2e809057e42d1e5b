// Bundlers that make one file of a server, with everything in it. Each builds `main.js` of a project as a user would, and gives the file.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The program of Bun, which its package fetches for the platform. */
const [SYSTEM, PROCESSOR] = [process.platform, process.arch].map(
  (name) => ({ win32: 'windows', arm64: 'aarch64' })[name] ?? name,
);
export const BUN = fileURLToPath(
  new URL(`node_modules/@oven/bun-${SYSTEM}-${PROCESSOR}/bin/bun`, import.meta.url),
);

/** Vite comes with the repository, as webpack does; the others are installed in this folder. */
const vite = async (root, out) => {
  const { build } = await import('vite');
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: { ssr: join(root, 'main.js'), outDir: out, target: 'node20', minify: false },
  });
  return join(out, 'main.js');
};

/** webpack and Rspack take the same settings. */
const packed = (load) => async (root, out) => {
  const bundler = await load();
  const settings = {
    context: root,
    mode: 'production',
    target: 'node20',
    entry: './main.js',
    output: { path: out, filename: 'main.cjs' },
    optimization: { minimize: false },
    performance: { hints: false },
  };
  const stats = await new Promise((resolve, reject) => {
    bundler(settings, (error, result) => (error ? reject(error) : resolve(result)));
  });
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  if (errors.length + warnings.length > 0)
    throw new Error([...errors, ...warnings].map(({ message }) => message).join('\n'));
  return join(out, 'main.cjs');
};

const esbuild =
  (format, options = {}) =>
  async (root, out) => {
    const { build } = await import('esbuild');
    const outfile = join(out, format === 'esm' ? 'main.mjs' : 'main.cjs');
    const { errors } = await build({
      absWorkingDir: root,
      entryPoints: ['main.js'],
      bundle: true,
      platform: 'node',
      format,
      outfile,
      logLevel: 'silent',
      ...options,
    });
    if (errors.length > 0) throw new Error(errors.map(({ text }) => text).join('\n'));
    return outfile;
  };

const rollup = (settings) => async (root, out) => {
  const [{ rollup: begin }, resolve, commonjs, json] = await Promise.all([
    import('rollup'),
    import('@rollup/plugin-node-resolve'),
    import('@rollup/plugin-commonjs'),
    import('@rollup/plugin-json'),
  ]);
  const bundle = await begin({
    input: join(root, 'main.js'),
    plugins: [
      resolve.nodeResolve({ preferBuiltins: true, ...settings }),
      commonjs.default(),
      json.default(),
    ],
    onLog: () => undefined,
  });
  await bundle.write({ dir: out, format: 'es', entryFileNames: 'main.mjs' });
  await bundle.close();
  return join(out, 'main.mjs');
};

const bun = async (root, out) => {
  const outfile = join(out, 'main.mjs');
  execFileSync(
    BUN,
    [
      'build',
      join(root, 'main.js'),
      '--target=node',
      '--format=esm',
      '--external=libsql',
      `--outfile=${outfile}`,
    ],
    { cwd: root, stdio: 'pipe' },
  );
  return outfile;
};

/** By name, with what the user sets. */
export const BUILDERS = {
  'Vite, build.ssr with ssr.noExternal': vite,
  'webpack, target node': packed(async () => (await import('webpack')).default),
  'Rspack, target node': packed(async () => (await import('@rspack/core')).rspack),
  'esbuild, platform node, esm': esbuild('esm'),
  'esbuild, platform node, cjs': esbuild('cjs'),
  'Rollup, exportConditions node': rollup({ exportConditions: ['node'] }),
  'Bun, target node, libsql external': bun,
};

/** Bundled as for a page: the program says which setting is lacking. */
export const WITHOUT_NODE = {
  'esbuild, platform neutral': esbuild('esm', { platform: 'neutral', external: ['node:*'] }),
  'Rollup, without exportConditions': rollup({}),
};
