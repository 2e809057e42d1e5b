/** What is chosen for the charts of a page, as parts of its address. */
import { SMOOTHING_KINDS } from 'quark-sdk/workspace';
import { FLAG, choiceText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import { AXIS, SMOOTHING, ZOOMS } from './chart-text.ts';
import type { ChartView } from './chart-view.ts';

/** Puts axis, smoothing, scales and zooms of the charts into the address, and takes them from there. */
export function useChartAddress(view: ChartView): void {
  useAddressed('axis', view.chosenAxis, AXIS);
  useAddressed('smooth', view.smoothing, SMOOTHING);
  useAddressed('kind', view.smoothingKind, choiceText(SMOOTHING_KINDS));
  useAddressed('log', view.isLog, FLAG);
  useAddressed('logx', view.isLogX, FLAG);
  useAddressed('cut', view.skipsOutliers, FLAG);
  useAddressed('linked', view.isLinked, FLAG);
  useAddressed('zoom', view.zooms, ZOOMS);
}
