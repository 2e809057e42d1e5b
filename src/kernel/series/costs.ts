/**
 * What series kernels cost: one value takes as long as statistics of so many bytes of float32, in noisy series. Only the
 * order of magnitude matters: whether a call takes longer than a message to a worker.
 */
const VALUE_BYTES: Readonly<Record<string, number>> = {
  m4: 10,
  minMax: 10,
  lttb: 16,
  smoothExponential: 30,
  median: 40,
  interquartileRange: 40,
  quantiles: 50,
  medianAbsoluteDeviation: 90,
  outliers: 100,
  areaUnderCurve: 150,
  smoothRobust: 700,
  changePoints: 1024,
  spikes: 2000,
  principalComponents: 3000,
  alignOnStep: 5000,
  theilSen: 20_000,
};

/** For methods without a figure: rather a message too many than a thread held up. */
const UNKNOWN_BYTES = 1000;

/** The cost of one value. */
export function costOf(method: string): number {
  return VALUE_BYTES[method] ?? UNKNOWN_BYTES;
}

/** The methods that have a figure. */
export const MEASURED_METHODS: readonly string[] = Object.keys(VALUE_BYTES);
