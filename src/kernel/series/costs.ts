/** What series kernels cost. */

/** One value takes as long as statistics of so many bytes of float32, for methods without a figure of their own. */
const DEFAULT_VALUE_BYTES = 64;

/** The same, by method. */
const VALUE_BYTES: Readonly<Record<string, number>> = {
  changePoints: 1024,
  m4: 10,
  minMax: 10,
  lttb: 16,
  smoothExponential: 30,
  smoothRobust: 700,
  theilSen: 20_000,
  spikes: 2000,
  areaUnderCurve: 150,
};

/** The cost of one value. */
export function costOf(method: string): number {
  return VALUE_BYTES[method] ?? DEFAULT_VALUE_BYTES;
}
