/** Colours of the phases of a training. */
import type { PhaseName } from 'quark-sdk';
import { seriesColor } from './palette.ts';

/** Each phase has a colour of its own in the palette of curves; divergence that of alarm. */
const PHASE_COLORS: Readonly<Record<PhaseName, number>> = {
  initialization_adaptation: 7,
  rapid_learning: 2,
  stabilization: 0,
  stagnation: 4,
  overfitting_onset: 1,
  divergence: 5,
};

/** The colour of a phase in the theme that is shown. Reading it inside an effect subscribes to it. */
export function phaseColor(name: PhaseName): string {
  return seriesColor(PHASE_COLORS[name]);
}
