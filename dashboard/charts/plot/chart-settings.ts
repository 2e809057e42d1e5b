/** Axes and smoothing of charts, as the dashboard asks about them. */
import type { ChartAxis, ChartSettings } from 'quark-sdk/workspace';
import { METRIC_AXIS, X_AXES } from '../../series/series.ts';

/** How a curve is smoothed. The same amount takes as much noise away by every kind. */
export type Smoothing = ChartSettings['smoothing'];

/** The metric that an axis goes by; undefined for steps, epochs and times. */
export function metricOfAxis(axis: ChartAxis): string | undefined {
  return axis.startsWith(METRIC_AXIS) ? axis.slice(METRIC_AXIS.length) : undefined;
}

/** Whether this is one of the axes that every series has. */
export function isPlainAxis(axis: ChartAxis): axis is (typeof X_AXES)[number] {
  return X_AXES.some((one) => one === axis);
}
