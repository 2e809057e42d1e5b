// Faults to put into a healthy program, and what may be said of them. `accepted`: rules that name the fault or what it does;
// `causes`: those that name the fault itself, for the share of first causes that are right. `layer`: where it sits, if it sits
// somewhere; a list where it lies between two, and naming either is right. `harm`: what must suffer before the fault counts (see harm.mjs); 'metric' unless it says otherwise.
import { LOOP_FAULTS } from './loop-faults.mjs';
import { MODEL_FAULTS } from './model-faults.mjs';

export const FAULTS = [...MODEL_FAULTS, ...LOOP_FAULTS].map((fault) => ({
  harm: 'metric',
  from: 0,
  appliesTo: () => true,
  layer: () => null,
  ...fault,
}));
