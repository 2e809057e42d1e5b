/** The phases of a run, as bands behind its curves. */
import type { ChartBand } from '../charts/metric-chart.ts';
import { phaseColor } from '../theme/phase-color.ts';
import type { RunFindings } from '../worker/run-analysis.ts';

/** The phases of a run as bands, each up to the next one: between two steps there is nothing. */
export function phaseBands({
  phaseAxis,
  phases,
}: Pick<RunFindings, 'phaseAxis' | 'phases'>): readonly ChartBand[] {
  return phases.map(({ displayName, phaseName, stepEnd, stepStart }, at): ChartBand => ({
    start: stepStart,
    end: phases[at + 1]?.stepStart ?? stepEnd,
    axis: phaseAxis,
    kind: 'phase',
    color: phaseColor(phaseName),
    label: displayName,
  }));
}
