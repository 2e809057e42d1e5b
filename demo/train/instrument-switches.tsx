/** A switch for each instrument of the training. */
import type { JSX } from 'preact';
import { INSTRUMENT_IDS, type InstrumentChoice, type InstrumentId } from './instruments.ts';
import { t } from '../../dashboard/parts/t.ts';

const WORDS: Readonly<Record<InstrumentId, { readonly label: string; readonly hint: string }>> = {
  layers: {
    get label() {
      return t('Activations and gradients');
    },
    get hint() {
      return t('Mean, spread, norm and dead outputs of every layer, forward and backward');
    },
  },
  parameters: {
    get label() {
      return t('Parameters');
    },
    get hint() {
      return t('Norms of weights, gradients and updates');
    },
  },
  histograms: {
    get label() {
      return t('Histograms');
    },
    get hint() {
      return t('How weights, gradients and updates are spread');
    },
  },
  telemetry: {
    get label() {
      return t('Machine');
    },
    get hint() {
      return t('Step times, memory, long tasks and tensors, every 10 steps');
    },
  },
  batches: {
    get label() {
      return t('Batches');
    },
    get hint() {
      return t('Loss, classes and samples of every batch');
    },
  },
};

/** The switches, one below the other. */
export function InstrumentSwitches(props: {
  readonly value: InstrumentChoice;
  readonly isDisabled: boolean;
  readonly onChange: (value: InstrumentChoice) => void;
}): JSX.Element {
  return (
    <fieldset class="instruments stack" disabled={props.isDisabled}>
      <legend class="quiet small">{t('Record')}</legend>
      {INSTRUMENT_IDS.map((id) => (
        <label key={id} class="instrument row spread gap-12 muted medium" title={WORDS[id].hint}>
          <span id={`instrument-${id}`}>{WORDS[id].label}</span>
          <span class="sr-only" id={`instrument-hint-${id}`}>
            {WORDS[id].hint}
          </span>
          <input
            type="checkbox"
            role="switch"
            aria-labelledby={`instrument-${id}`}
            aria-describedby={`instrument-hint-${id}`}
            name={id}
            checked={props.value[id]}
            onChange={(event) =>
              props.onChange({ ...props.value, [id]: event.currentTarget.checked })
            }
          />
        </label>
      ))}
    </fieldset>
  );
}
