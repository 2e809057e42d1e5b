/** `quark-sdk/exchange`: records in the formats of other programs. */
export { exportEventsJsonLines } from './exchange/events-export.ts';
export {
  exportMetricsArrow,
  exportMetricsCsv,
  exportMetricsJsonLines,
} from './exchange/metrics-export.ts';
