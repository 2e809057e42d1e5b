// Preloaded (`node --import`) where tests are to run on the SQLite of Node: the native packages cannot be loaded, as on a machine
// without them, and what tests read a database with is the SQLite of Node too, as a process must have one of the two.
import { registerHooks } from 'node:module';

const READER = new URL('./builtin-reader.mjs', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'libsql' || specifier.endsWith('/node_modules/libsql/index.js'))
      return { url: READER, shortCircuit: true };
    if (specifier.startsWith('@libsql/'))
      throw Object.assign(new Error(`Cannot find module '${specifier}'`), {
        code: 'MODULE_NOT_FOUND',
      });
    return next(specifier, context);
  },
});
