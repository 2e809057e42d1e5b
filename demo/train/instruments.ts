/**
 * What a demo training records beside its metrics, shared by the training page and the command line, which hand in their own
 * instruments.
 */
import type { DataDiagnostics } from 'quark-sdk/probes';
import type { QuarkCallbackOptions } from 'quark-sdk/tfjs';

/** Names of the instruments. */
export const INSTRUMENT_IDS = [
  'layers',
  'parameters',
  'histograms',
  'telemetry',
  'batches',
] as const;

/** One of {@link INSTRUMENT_IDS}. */
export type InstrumentId = (typeof INSTRUMENT_IDS)[number];

/** Which instruments record. */
export type InstrumentChoice = Readonly<Record<InstrumentId, boolean>>;

/** All of them: together they stay within a few hundredths of the training time. */
export const DEFAULT_INSTRUMENTS: InstrumentChoice = Object.freeze({
  layers: true,
  parameters: true,
  histograms: true,
  telemetry: true,
  batches: true,
});

/** Steps from one probe or sample of the machine to the next, at least. */
export const INSTRUMENT_EVERY_STEPS = 10;

/** Share of the training time that each of the two probes may take. */
const PROBE_BUDGET = 0.015;

/** The probes that go along with `fit`, as options of `quarkCallback`. */
export function probeOptions(
  choice: InstrumentChoice,
): Pick<QuarkCallbackOptions, 'hooks' | 'parameters'> {
  const rhythm = {
    schedule: { everyNSteps: INSTRUMENT_EVERY_STEPS },
    overheadBudget: PROBE_BUDGET,
  };
  return {
    hooks: choice.layers && rhythm,
    parameters: (choice.parameters || choice.histograms) && {
      ...rhythm,
      captureSummaries: choice.parameters,
      captureDistributions: choice.histograms,
      distributionTypes: ['value', 'gradient', 'update'],
    },
  };
}

/** What is known of a batch without its images. */
export type DigitBatch = {
  /** Each from 0 to 9. */
  readonly labels: Uint8Array;
  /** Line of each image in the file, from 0. */
  readonly ids: Int32Array;
};

/** What {@link instrumentCallback} records with; undefined: not at all. */
export type StepInstruments = {
  readonly diagnostics: DataDiagnostics | undefined;
  /** Step of the batch under way. */
  readonly step: () => number;
  /** The batch under way. */
  readonly batch: () => DigitBatch | undefined;
};

/** A callback for `fit`, to stand before the one that counts the steps. */
export type InstrumentCallback = {
  readonly onEpochBegin: (epoch: number) => Promise<void>;
  readonly onBatchEnd: (batch: number, logs?: Readonly<Record<string, unknown>>) => Promise<void>;
};

/** Records the batches of a `fit`. */
export function instrumentCallback(instruments: StepInstruments): InstrumentCallback {
  const { diagnostics } = instruments;
  let epoch = 0;
  return {
    onEpochBegin: (begun) => {
      epoch = begun;
      return Promise.resolve();
    },
    onBatchEnd: (_batch, logs) => {
      const step = instruments.step();
      const loss = logs?.['loss'];
      const batch = instruments.batch();
      if (typeof loss === 'number' && batch !== undefined)
        diagnostics?.logBatch(loss, {
          step,
          epoch,
          labels: batch.labels,
          sampleIds: Array.from(batch.ids, String),
        });
      return Promise.resolve();
    },
  };
}

/** The choice as it stands in the config of a run; what is not there is as it is by default. */
export function instrumentsOf(stored: unknown): InstrumentChoice {
  if (!Array.isArray(stored)) return DEFAULT_INSTRUMENTS;
  const names: readonly unknown[] = stored;
  return {
    layers: names.includes('layers'),
    parameters: names.includes('parameters'),
    histograms: names.includes('histograms'),
    telemetry: names.includes('telemetry'),
    batches: names.includes('batches'),
  };
}

/** The choice for the config of a run: the names of those that record. */
export function storedInstruments(choice: InstrumentChoice): InstrumentId[] {
  return INSTRUMENT_IDS.filter((id) => choice[id]);
}
