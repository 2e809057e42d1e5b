import { describeIdb } from './idb-location.ts';

describeIdb('idb');
