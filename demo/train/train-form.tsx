/** Settings of a training, and the button that starts or stops it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Icon } from '../../dashboard/parts/icons.tsx';
import { DEFAULT_DIGITS_TRAINING, type DigitsTrainingConfig } from './digits.ts';
import { fieldError, FIELDS, type Field } from './field.ts';
import { InstrumentSwitches } from './instrument-switches.tsx';
import { DEFAULT_INSTRUMENTS, type InstrumentChoice } from './instruments.ts';

/** The form beside the curves. */
export function TrainForm(props: {
  readonly isBusy: boolean;
  readonly onStart: (config: DigitsTrainingConfig) => void;
  readonly onStop: () => void;
}): JSX.Element {
  const { epochs, learningRate, batchSize } = DEFAULT_DIGITS_TRAINING;
  const texts = useSignal<Readonly<Record<Field['name'], string>>>({
    epochs: String(epochs),
    learningRate: String(learningRate),
    batchSize: String(batchSize),
  });
  const instruments = useSignal<InstrumentChoice>(DEFAULT_INSTRUMENTS);
  const errors = FIELDS.map((field) => fieldError(field, texts.value[field.name]));
  const set = (name: Field['name'], text: string): void => {
    texts.value = { ...texts.value, [name]: text };
  };
  return (
    <form
      class="train-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (errors.some((error) => error !== undefined)) return;
        props.onStart({
          ...DEFAULT_DIGITS_TRAINING,
          epochs: Number(texts.value.epochs),
          learningRate: Number(texts.value.learningRate),
          batchSize: Number(texts.value.batchSize),
          instruments: instruments.value,
        });
      }}
    >
      {FIELDS.map((field, index) => (
        <div key={field.name} class="field">
          <label for={`field-${field.name}`}>{field.label}</label>
          <span class="field-choices">
            {field.choices.map((choice) => (
              <button
                key={choice}
                type="button"
                disabled={props.isBusy}
                aria-label={`${field.label} ${choice}`}
                onClick={() => set(field.name, String(choice))}
              >
                {choice}
              </button>
            ))}
          </span>
          <input
            id={`field-${field.name}`}
            name={field.name}
            type="text"
            inputMode="decimal"
            autocomplete="off"
            disabled={props.isBusy}
            value={texts.value[field.name]}
            aria-invalid={errors[index] !== undefined}
            aria-describedby={`hint-${field.name}`}
            onInput={(event) => set(field.name, event.currentTarget.value)}
          />
          <span id={`hint-${field.name}`} class="field-error">
            {errors[index] ?? ''}
          </span>
        </div>
      ))}
      <InstrumentSwitches
        value={instruments.value}
        isDisabled={props.isBusy}
        onChange={(next) => {
          instruments.value = next;
        }}
      />
      {props.isBusy ? (
        <button type="button" class="button train-button" onClick={props.onStop}>
          <Icon name="stop" /> Stop
        </button>
      ) : (
        <button
          type="submit"
          class="button button-primary train-button"
          disabled={errors.some((error) => error !== undefined)}
        >
          <Icon name="play" /> Start training
        </button>
      )}
    </form>
  );
}
