/**
 * What stands for `node-platform.ts` in a bundle for browsers. A page never calls it; a program of Node that was bundled as a page does,
 * and is told which setting its bundler lacks.
 */
import { QuarkError } from './base/errors.ts';

const refuse = (): never => {
  throw new QuarkError(
    'unsupported',
    `This program runs in Node, and its bundle was made for browsers. Bundle it for Node: esbuild --platform=node, Vite with build.ssr, webpack and Rspack with target "node", Rollup with nodeResolve({ exportConditions: ["node"] }), others with the condition "node". Or leave quark-sdk out of the bundle.`,
  );
};

export default {
  openFileStorage: refuse,
  openPostgresStorage: refuse,
  platformOfNode: refuse,
  startProfiler: refuse,
};
