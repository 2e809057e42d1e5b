/** All entries. A file of entries is an import and an item here. */
import type { CollectionEntry } from './entry.ts';
import { keras } from './keras.ts';
import { languageModels } from './language-models.ts';
import { tables } from './tables.ts';
import { trackers } from './trackers.ts';

export const COLLECTION: readonly CollectionEntry[] = [
  ...keras,
  ...languageModels,
  ...tables,
  ...trackers,
];
