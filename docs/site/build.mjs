// Runs Eleventy over the repository.
import { Eleventy } from '@11ty/eleventy';

const OUTPUT = 'build/docs';
const create = (options) =>
  new Eleventy('.', OUTPUT, {
    configPath: 'docs/site/eleventy.config.mjs',
    quietMode: true,
    ...options,
  });

/** Builds the site and gives the number of its pages. */
export async function build() {
  const eleventy = create({ runMode: 'build' });
  await eleventy.init();
  const [, written] = await eleventy.write();
  return written.length;
}

/** Builds, serves, and builds again what changes, until the process ends. */
export async function serve(port) {
  const eleventy = create({ runMode: 'serve' });
  await eleventy.init();
  await eleventy.watch();
  await eleventy.serve(port);
}
