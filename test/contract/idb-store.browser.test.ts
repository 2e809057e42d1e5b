import { describeIdb } from './idb-place.ts';

describeIdb('idb');
