/** All entries. A file of entries is an import and an item here. */
import { boosting } from './boosting.ts';
import type { CollectionEntry } from './entry.ts';
import { exported } from './exports.ts';
import { keras } from './keras.ts';
import { languageModels } from './language-models.ts';
import { notebooks } from './notebooks.ts';
import { packed } from './packed.ts';
import { pickles } from './pickles.ts';
import { reinforcement } from './reinforcement.ts';
import { languageLogs } from './language-logs.ts';
import { stores } from './stores.ts';
import { tables } from './tables.ts';
import { textTables } from './text-tables.ts';
import { trackers } from './trackers.ts';
import { vision } from './vision.ts';

export const COLLECTION: readonly CollectionEntry[] = [
  ...boosting,
  ...keras,
  ...languageModels,
  ...notebooks,
  ...packed,
  ...pickles,
  ...reinforcement,
  ...stores,
  ...tables,
  ...textTables,
  ...trackers,
  ...vision,
  ...languageLogs,
  ...exported,
];
