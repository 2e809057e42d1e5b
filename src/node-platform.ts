/** What the core takes from Node. `imports` of package.json names it `#node` wherever the condition "node" holds, in bundlers as well. */
import { startProfiler } from './instruments/profiler/start-profiler.ts';
import { nodePlatform } from './session/platforms/node/platform.ts';
import { openFileStorage } from './store/sql/node/file-storage.ts';
import { openPostgresStorage } from './store/sql/node/postgres-storage.ts';

export default {
  openFileStorage,
  openPostgresStorage,
  platformOfNode: () => nodePlatform,
  startProfiler,
};
