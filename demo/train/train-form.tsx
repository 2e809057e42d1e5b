/** Settings of a training, and the button that starts or stops it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Icon } from '../dashboard/views/icons.tsx';
import { DEFAULT_DIGITS_TRAINING, type DigitsTrainingConfig } from './digits.ts';

/** One numeric setting and its limits. */
type Field = {
  readonly name: 'epochs' | 'learningRate' | 'batchSize';
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number | 'any';
  readonly isWhole: boolean;
  readonly choices: readonly number[];
};

const FIELDS: readonly Field[] = [
  {
    name: 'epochs',
    label: 'Epochs',
    min: 1,
    max: 500,
    step: 1,
    isWhole: true,
    choices: [3, 20, 60],
  },
  {
    name: 'learningRate',
    label: 'Learning rate',
    min: 1e-6,
    max: 10,
    step: 'any',
    isWhole: false,
    choices: [0.0003, 0.001, 0.01],
  },
  {
    name: 'batchSize',
    label: 'Batch size',
    min: 1,
    max: 512,
    step: 1,
    isWhole: true,
    choices: [16, 32, 128],
  },
];

/** Why a text is no value of a field, or undefined when it is one. */
export function fieldError(
  field: Pick<Field, 'min' | 'max' | 'isWhole'>,
  text: string,
): string | undefined {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return 'a number is needed';
  if (value < field.min || value > field.max) return `from ${field.min} to ${field.max}`;
  return field.isWhole && !Number.isInteger(value) ? 'a whole number is needed' : undefined;
}

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
