/** IndexedDB in Node, on an implementation in memory; the browser's own is tested in idb-store.browser.test.ts. */
import 'fake-indexeddb/auto';
import { describeIdb } from './idb-location.ts';

describeIdb('idb (in memory)');
