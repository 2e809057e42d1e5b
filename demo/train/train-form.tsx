/** Settings of a training, and the button that starts or stops it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from '../../dashboard/parts/controls.tsx';
import { Icon } from '../../dashboard/parts/icons.tsx';
import { setterOf } from '../../dashboard/parts/signals.ts';
import { DEFAULT_DIGITS_TRAINING, type DigitsTrainingConfig } from './digits.ts';
import { fieldError, FIELDS, type FormField } from './field.ts';
import { InstrumentSwitches } from './instrument-switches.tsx';
import { DEFAULT_INSTRUMENTS, type InstrumentChoice } from './instruments.ts';
import { t } from '../../dashboard/parts/t.ts';

/** The form beside the curves. */
export function TrainForm(props: {
  readonly isBusy: boolean;
  readonly onStart: (config: DigitsTrainingConfig) => void;
  readonly onStop: () => void;
}): JSX.Element {
  const { epochs, learningRate, batchSize } = DEFAULT_DIGITS_TRAINING;
  const texts = useSignal<Readonly<Record<FormField['name'], string>>>({
    epochs: String(epochs),
    learningRate: String(learningRate),
    batchSize: String(batchSize),
  });
  const instruments = useSignal<InstrumentChoice>(DEFAULT_INSTRUMENTS);
  const isWrong = FIELDS.some((field) => fieldError(field, texts.value[field.name]) !== undefined);
  return (
    <form
      class="train-form card column gap-12"
      onSubmit={(event) => {
        event.preventDefault();
        if (isWrong) return;
        props.onStart({
          ...DEFAULT_DIGITS_TRAINING,
          epochs: Number(texts.value.epochs),
          learningRate: Number(texts.value.learningRate),
          batchSize: Number(texts.value.batchSize),
          instruments: instruments.value,
        });
      }}
    >
      {FIELDS.map((field) => (
        <NumberField
          key={field.name}
          field={field}
          text={texts.value[field.name]}
          isDisabled={props.isBusy}
          onChange={(text) => {
            texts.value = { ...texts.value, [field.name]: text };
          }}
        />
      ))}
      <InstrumentSwitches
        value={instruments.value}
        isDisabled={props.isBusy}
        onChange={setterOf(instruments)}
      />
      {props.isBusy ? (
        <Button class="train-button" onClick={props.onStop}>
          <Icon name="stop" /> {t('Stop')}
        </Button>
      ) : (
        <Button isPrimary type="submit" class="train-button" disabled={isWrong}>
          <Icon name="play" /> {t('Start training')}
        </Button>
      )}
    </form>
  );
}

/** A setting with buttons for usual values. */
function NumberField(props: {
  readonly field: FormField;
  readonly text: string;
  readonly isDisabled: boolean;
  readonly onChange: (text: string) => void;
}): JSX.Element {
  const { name, label, choices } = props.field;
  const error = fieldError(props.field, props.text);
  return (
    <div class="field">
      <label class="muted medium" for={`field-${name}`}>
        {label}
      </label>
      <span class="field-choices">
        {choices.map((choice) => (
          <button
            key={choice}
            type="button"
            disabled={props.isDisabled}
            aria-label={`${label} ${choice}`}
            onClick={() => props.onChange(String(choice))}
          >
            {choice}
          </button>
        ))}
      </span>
      <input
        id={`field-${name}`}
        class="input"
        name={name}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        disabled={props.isDisabled}
        value={props.text}
        aria-invalid={error !== undefined}
        aria-describedby={`hint-${name}`}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
      <span id={`hint-${name}`} class="field-error is-bad small">
        {error ?? ''}
      </span>
    </div>
  );
}
