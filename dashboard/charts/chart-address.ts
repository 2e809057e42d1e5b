/** What is chosen for the charts of a page, as parts of its address. */
import { FLAG, choiceText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import { X_AXES } from '../series/series.ts';
import { SMOOTHING, ZOOMS } from './chart-text.ts';
import type { ChartView } from './chart-view.ts';

/** Puts axis, smoothing, scales and zooms of the charts into the address, and takes them from there. */
export function useChartAddress(view: ChartView): void {
  useAddressed('axis', view.chosenAxis, choiceText(X_AXES));
  useAddressed('smooth', view.smoothing, SMOOTHING);
  useAddressed('log', view.isLog, FLAG);
  useAddressed('cut', view.skipsOutliers, FLAG);
  useAddressed('linked', view.isLinked, FLAG);
  useAddressed('zoom', view.zooms, ZOOMS);
}
