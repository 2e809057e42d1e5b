// What is measured of a training, and what is asked of it.
export const VARIANTS = [
  { name: 'cadence 100', every: 100 },
  { name: 'cadence 10', every: 10, target: 5 },
  { name: 'cadence 10, histograms', every: 10, histograms: true, target: 8 },
  { name: 'cadence 1', every: 1, target: 30 },
];

/** The hook engine and the parameter diagnostics of a variant, and the stopwatch around them. */
export function openProbes({ HookEngine, ParameterDiagnostics }, session, watch, variant) {
  const schedule = { everyNSteps: variant.every };
  const hooks = new HookEngine(session, watch.source, { schedule });
  const parameters = variant.activationsOnly
    ? undefined
    : new ParameterDiagnostics(session, watch.source, {
        schedule,
        ...(variant.histograms
          ? { captureDistributions: true, distributionTypes: ['value', 'gradient', 'update'] }
          : {}),
      });
  return {
    begin: (step) => watch.run(() => hooks.beginStep(step)),
    end: (step) =>
      watch.run(() => {
        hooks.endStep();
        parameters?.snapshot(step);
      }),
    skipped: () => hooks.status.skippedProbes + (parameters?.status.skippedProbes ?? 0),
    async flush() {
      await hooks.flush();
      await parameters?.flush();
    },
  };
}
