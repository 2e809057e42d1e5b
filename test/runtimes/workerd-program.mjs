// The walk as a worker of workerd, which answers it. Bundled by esbuild, as wrangler does it.
import { walk } from './program.mjs';

export default {
  async fetch() {
    return Response.json(await walk({ storage: 'memory:workerd' }, 'memory:workerd'));
  },
};
