/** Statistics of units in plain JavaScript. */
import type { UnitSettings } from './checks.ts';
import type { TensorData } from '../kernel.ts';
import { createUnitTotals, type UnitTotals } from './unit-results.ts';

/** So many values of a unit are added up before they join its sum, which keeps the rounding of long sums small. */
const BLOCK = 4096;

/** The totals of each unit of `data`. */
export function addUpUnits(data: TensorData, settings: UnitSettings): UnitTotals {
  const { units, innerSize } = settings;
  const totals = createUnitTotals(units);
  if (innerSize === 1) addRows(totals, data, settings);
  else {
    for (let start = 0; start < data.length; start += innerSize) {
      const unit = (start / innerSize) % units;
      for (let from = start; from < start + innerSize; from += BLOCK)
        addRun(totals, unit, data, from, Math.min(from + BLOCK, start + innerSize), settings);
    }
  }
  return totals;
}

function addRows(totals: UnitTotals, data: TensorData, { units, epsilon }: UnitSettings): void {
  const sums = new Float64Array(units);
  const { maxMagnitudes, nonFiniteCounts, inactiveCounts } = totals;
  for (let start = 0; start < data.length; start += BLOCK * units) {
    const end = Math.min(data.length, start + BLOCK * units);
    for (let row = start; row < end; row += units) {
      for (let unit = 0; unit < units; unit++) {
        const x = data[row + unit] ?? 0;
        const size = Math.abs(x);
        if (size < Infinity) {
          sums[unit] = (sums[unit] ?? 0) + x;
          if (size > (maxMagnitudes[unit] ?? 0)) maxMagnitudes[unit] = size;
          if (size <= epsilon) inactiveCounts[unit] = (inactiveCounts[unit] ?? 0) + 1;
        } else nonFiniteCounts[unit] = (nonFiniteCounts[unit] ?? 0) + 1;
      }
    }
    for (let unit = 0; unit < units; unit++)
      totals.sums[unit] = (totals.sums[unit] ?? 0) + (sums[unit] ?? 0);
    sums.fill(0);
  }
}

function addRun(
  totals: UnitTotals,
  unit: number,
  data: TensorData,
  start: number,
  end: number,
  { epsilon }: UnitSettings,
): void {
  let sum = 0;
  let most = totals.maxMagnitudes[unit] ?? 0;
  let nonFinite = 0;
  let inactive = 0;
  for (let i = start; i < end; i++) {
    const x = data[i] ?? 0;
    const size = Math.abs(x);
    if (size < Infinity) {
      sum += x;
      if (size > most) most = size;
      if (size <= epsilon) inactive += 1;
    } else nonFinite += 1;
  }
  totals.sums[unit] = (totals.sums[unit] ?? 0) + sum;
  totals.maxMagnitudes[unit] = most;
  totals.nonFiniteCounts[unit] = (totals.nonFiniteCounts[unit] ?? 0) + nonFinite;
  totals.inactiveCounts[unit] = (totals.inactiveCounts[unit] ?? 0) + inactive;
}
