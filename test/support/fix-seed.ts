/** Runs before every test file: whatever fast-check draws follows from the seed of the run, also where a test names none. */
import fc from 'fast-check';
import { seedOfRun } from './property.ts';

fc.configureGlobal({ seed: seedOfRun() });
