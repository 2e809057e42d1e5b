/** What is shown of texts, and what they are compared with. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Segmented } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { setterOf } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import type { MediaRun } from '../media-feed.ts';
import type { TextMode } from './base-text.ts';

/** A longer list of steps is cut: an address names any of them. */
const MAX_LISTED_STEPS = 2000;

/** The tools above texts. */
export function TextTools(props: {
  /** What is shown. */
  readonly mode: TextMode;
  readonly chosen: Signal<TextMode>;
  readonly baseStep: Signal<number | undefined>;
  readonly baseRunId: Signal<string>;
  readonly steps: readonly number[];
  readonly runs: readonly MediaRun[];
}): JSX.Element {
  const { baseRunId, baseStep, chosen, mode, runs, steps } = props;
  const baseRun = runs.find(({ runId }) => runId === baseRunId.value) ?? runs[0];
  return (
    <div class="media-tools row wrap gap-12">
      <Segmented
        label={t('What is shown of the texts')}
        options={[
          { value: 'text', label: t('Text') },
          { value: 'before', label: t('Changes since the step before') },
          { value: 'first', label: t('Changes since the first step') },
          { value: 'step', label: t('Changes since a step') },
          ...(runs.length > 1
            ? [{ value: 'run' as const, label: t('Changes from another run') }]
            : []),
        ]}
        value={mode}
        onChange={setterOf(chosen)}
      />
      {mode === 'step' && (
        <BaseChoice
          label={t('Step to compare with')}
          options={steps.slice(0, MAX_LISTED_STEPS).map((one) => ({
            value: String(one),
            label: formatCount(one),
          }))}
          value={String(baseStep.value ?? steps[0] ?? '')}
          onChange={(chosenStep) => {
            baseStep.value = Number(chosenStep);
          }}
        />
      )}
      {mode === 'run' && (
        <BaseChoice
          label={t('Run to compare with')}
          options={runs.map(({ name, runId }) => ({ value: runId, label: name }))}
          value={baseRun?.runId ?? ''}
          onChange={setterOf(baseRunId)}
        />
      )}
    </div>
  );
}

/** What the texts are compared with. */
function BaseChoice(props: {
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  return (
    <label class="row gap-6 small">
      {props.label}
      <select
        class="input"
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      >
        {props.options.map(({ label, value }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
