/** Runs and segments as the tests of stores use them. */
export {
  mergeOf,
  patternBytes as bytesOf,
  RUN_ID,
  runOf,
  segmentOf,
} from '../../src/store/testing/segments.ts';
