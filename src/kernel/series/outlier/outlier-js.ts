/** Outliers in plain JavaScript. */
import { jsKernel } from '../../tensor/js-kernel.ts';
import { jsOrder } from '../order/order.ts';
import {
  FENCE_PROBABILITIES,
  type OutlierKernel,
  type OutlierMethod,
  type OutlierParts,
  checkOutlierOptions,
  findNonFinite,
  meanDistance,
  outliersOfAll,
  quartileSpread,
  robustSpread,
  spreadOfMoments,
} from './outlier.ts';
import { outliersInWindow } from './outlier-window.ts';
import { checkSeries } from '../module/values.ts';

/** Outliers in plain JavaScript. */
export const jsOutlier: OutlierKernel = {
  outliers(given, options) {
    const values = checkSeries('values', given);
    const settings = checkOutlierOptions(options);
    if (settings.window !== null) return outliersInWindow(values, settings, settings.window);
    return outliersOfAll(values, settings, {
      measure: () => jsMeasure(values, settings.method),
      beyond: (lower, upper) => {
        const found: number[] = [];
        values.forEach((value, i) => {
          if ((value < lower || value > upper) && Number.isFinite(value)) found.push(i);
        });
        return Uint32Array.from(found);
      },
    });
  },
};

function jsMeasure(
  values: Float64Array,
  method: OutlierMethod,
): ReturnType<OutlierParts['measure']> {
  const count = values.length - findNonFinite(values).length;
  switch (method) {
    case 'z_score':
      return { count, spread: spreadOfMoments(values, (data) => jsKernel.tensorStats(data)) };
    case 'robust_z_score': {
      const { median, mad } = jsOrder.medianAbsoluteDeviation(values);
      return {
        count,
        spread: robustSpread(median, mad, () => meanDistance(values, median, count)),
      };
    }
    case 'iqr_fence': {
      const [low = 0, center = 0, high = 0] = jsOrder.quantiles(values, FENCE_PROBABILITIES);
      return { count, spread: quartileSpread(low, center, high) };
    }
  }
}
