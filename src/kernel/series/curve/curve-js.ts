/** The curve kernels in plain JavaScript: where WebAssembly cannot run, and the oracle of the tests. */
import { alignOnStep } from './curve-align.ts';
import { areaUnderCurve } from './curve-area.ts';
import {
  checkAlign,
  checkArea,
  checkExponential,
  checkRobust,
  checkSpikes,
  checkStepped,
  checkTheilSen,
} from './curve-checks.ts';
import { jsMovingMedian, smoothRobustly, type MovingMedian } from './curve-median.ts';
import { JsSlopes } from './curve-slope-js.ts';
import { theilSen, type WithSlopes } from './curve-slope.ts';
import { smoothAny, smoothPlainly, type Smoother } from './curve-smooth.ts';
import { findSpikes } from './curve-spikes.ts';
import type { CurveKernel } from './curve.ts';
import { checkSeries } from '../module/values.ts';

/** The parts that an implementation brings; everything else is the same for all. */
export type CurveParts = {
  readonly smooth: Smoother;
  readonly movingMedian: MovingMedian;
  readonly withSlopes: WithSlopes;
};

/** The curve kernels over some parts. */
export function createCurveKernel({ smooth, movingMedian, withSlopes }: CurveParts): CurveKernel {
  return {
    smoothExponential: (values, options) => {
      const checked = checkSeries('values', values);
      const settings = checkExponential(checked.length, options);
      return smoothAny(checked, settings, settings.positions === null ? smooth : smoothPlainly);
    },
    smoothRobust: (values, options) => {
      const checked = checkSeries('values', values);
      return smoothRobustly(checked, checkRobust(options), movingMedian);
    },
    theilSen: (values, options) => {
      const checked = checkSeries('values', values);
      return theilSen(checked, checkTheilSen(checked.length, options), withSlopes);
    },
    spikes: (values, options) =>
      findSpikes(checkSeries('values', values), checkSpikes(options), movingMedian),
    areaUnderCurve: (values, options) => {
      const checked = checkSeries('values', values);
      return areaUnderCurve(checked, checkArea(checked.length, options));
    },
    alignOnStep: (first, second, options) =>
      alignOnStep(
        checkStepped('first', first),
        checkStepped('second', second),
        checkAlign(options),
      ),
  };
}

/** The curve kernels in plain JavaScript. */
export const jsCurve: CurveKernel = createCurveKernel({
  smooth: smoothPlainly,
  movingMedian: jsMovingMedian,
  withSlopes: (x, y, work) => work(new JsSlopes(x, y)),
});
