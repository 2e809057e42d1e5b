/** The settings of one level: what it says itself, and what it has from the levels above. */
import type { JSX } from 'preact';
import {
  chartSettings,
  DEFAULT_CHART_CHOICES,
  levelOfChoice,
  MAX_SMOOTHING,
  SMOOTHING_KINDS,
  type ChartChoice,
  type ChartChoices,
} from 'quark-sdk/workspace';
import { kindName } from '../charts/chart-toolbar.tsx';
import { Button } from '../parts/controls.tsx';
import { METRIC_AXIS } from '../series/series.ts';
import { t } from '../parts/t.ts';
import type { Changes } from './edit-layout.ts';
import { MarkSwitches, shownMarksText } from './mark-switches.tsx';

type FieldsProps = {
  /** What this level says. */
  readonly own: ChartChoices;
  /** What the levels above say, the outermost first: workspace, then section. */
  readonly above: readonly ChartChoices[];
  /** Metrics that the horizontal axis can go by. */
  readonly metrics: readonly string[];
  readonly onChange: (change: Changes<ChartChoices>) => void;
};

/** A list that is longer is cut. */
const MOST_METRICS = 500;

/** One field a setting; empty fields are inherited and say from where. */
export function ChoiceFields(props: FieldsProps): JSX.Element {
  const { own, onChange } = props;
  return (
    <div class="choice-fields">
      <Choice
        {...props}
        name="axis"
        label={t('Horizontal axis')}
        options={[
          ...(['step', 'time', 'wall', 'epoch'] as const).map(
            (axis) => [axis, axisName(axis)] as const,
          ),
          ...props.metrics
            .slice(0, MOST_METRICS)
            .map((key) => [`${METRIC_AXIS}${key}`, key] as const),
        ]}
        onChoose={(axis) => onChange({ axis: axis as ChartChoices['axis'] })}
      />
      <Flag {...props} name="logY" label={t('Log scale')} />
      <Flag {...props} name="logX" label={t('Log x')} />
      <Choice
        {...props}
        name="smoothing"
        label={t('Kind of smoothing')}
        options={SMOOTHING_KINDS.map((kind) => [kind, kindName(kind)] as const)}
        onChoose={(kind) => onChange({ smoothing: SMOOTHING_KINDS.find((one) => one === kind) })}
      />
      <Amount
        {...props}
        name="smoothingAmount"
        label={t('Smoothing')}
        max={MAX_SMOOTHING}
        step="0.01"
      />
      <Flag {...props} name="skipsOutliers" label={t('Ignore outliers')} />
      <Flag {...props} name="isLinked" label={t('Link ranges')} />
      <Amount {...props} name="yMin" label={t('Lowest value')} step="any" />
      <Amount {...props} name="yMax" label={t('Highest value')} step="any" />
      <Marks {...props} />
      {isCrossed([...props.above, own]) && (
        <p class="problem" role="alert">
          {t('The lowest value is not below the highest: the axis follows the data.')}
        </p>
      )}
    </div>
  );
}

/** The kinds of marks, and the way back to what the level above says. */
function Marks({ above, onChange, own }: FieldsProps): JSX.Element {
  const { hiddenMarks } = chartSettings([...above, own]);
  const inherited = inheritedText(above, 'hiddenMarks', () =>
    shownMarksText(chartSettings(above).hiddenMarks),
  );
  return (
    <fieldset class="choice-marks row wrap gap-12">
      <legend>{t('Marked in the charts')}</legend>
      <MarkSwitches hidden={hiddenMarks} onChange={(hidden) => onChange({ hiddenMarks: hidden })} />
      {own.hiddenMarks === undefined ? (
        <span class="quiet small">{inherited}</span>
      ) : (
        <Button isSmall title={inherited} onClick={() => onChange({ hiddenMarks: undefined })}>
          {t('As the level above says')}
        </Button>
      )}
    </fieldset>
  );
}

function isCrossed(levels: readonly ChartChoices[]): boolean {
  const { yMax, yMin } = chartSettings(levels);
  const given = (name: 'yMin' | 'yMax'): boolean =>
    typeof levels[levelOfChoice(levels, name)]?.[name] === 'number';
  return given('yMin') && given('yMax') && yMin === undefined && yMax === undefined;
}

/** `from the section: on`, and the like. */
function inheritedText(
  above: readonly ChartChoices[],
  name: ChartChoice,
  say: (value: unknown) => string,
): string {
  const at = levelOfChoice(above, name);
  const value = say(above[at]?.[name] ?? DEFAULT_CHART_CHOICES[name]);
  if (at < 0) return t('default: {value}', { value });
  return at === 0
    ? t('from the workspace: {value}', { value })
    : t('from the section: {value}', { value });
}

function Choice(
  props: FieldsProps & {
    readonly name: 'axis' | 'smoothing';
    readonly label: string;
    readonly options: readonly (readonly [value: string, label: string])[];
    readonly onChoose: (value: string | undefined) => void;
  },
): JSX.Element {
  const { above, label, name, options, own } = props;
  const say = (value: unknown): string =>
    options.find(([one]) => one === value)?.[1] ?? String(value);
  return (
    <label>
      <span>{label}</span>
      <select
        class="input"
        value={own[name] ?? ''}
        onChange={(event) => props.onChoose(event.currentTarget.value || undefined)}
      >
        <option value="">{inheritedText(above, name, say)}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Flag(
  props: FieldsProps & {
    readonly name: 'isLinked' | 'logX' | 'logY' | 'skipsOutliers';
    readonly label: string;
  },
): JSX.Element {
  const { above, label, name, own } = props;
  const say = (value: unknown): string => (value === true ? t('on') : t('off'));
  const value = own[name];
  return (
    <label>
      <span>{label}</span>
      <select
        class="input"
        value={value === undefined ? '' : String(value)}
        onChange={(event) => {
          const { value: chosen } = event.currentTarget;
          props.onChange({ [name]: chosen === '' ? undefined : chosen === 'true' });
        }}
      >
        <option value="">{inheritedText(above, name, say)}</option>
        <option value="true">{t('on')}</option>
        <option value="false">{t('off')}</option>
      </select>
    </label>
  );
}

function Amount(
  props: FieldsProps & {
    readonly name: 'smoothingAmount' | 'yMin' | 'yMax';
    readonly label: string;
    readonly max?: number;
    readonly step: string;
  },
): JSX.Element {
  const { above, label, max, name, own, step } = props;
  const say = (value: unknown): string =>
    typeof value === 'number' ? String(value) : t('by the data');
  return (
    <label>
      <span>{label}</span>
      <input
        class="input"
        type="number"
        {...(max === undefined ? {} : { min: 0, max })}
        step={step}
        value={own[name] ?? ''}
        placeholder={inheritedText(above, name, say)}
        onChange={(event) => {
          const { valueAsNumber, value } = event.currentTarget;
          if (value === '') props.onChange({ [name]: undefined });
          else if (event.currentTarget.checkValidity()) props.onChange({ [name]: valueAsNumber });
        }}
      />
    </label>
  );
}

/** What an axis is called. */
function axisName(axis: 'step' | 'time' | 'wall' | 'epoch'): string {
  switch (axis) {
    case 'step':
      return t('Step');
    case 'time':
      return t('Time');
    case 'wall':
      return t('Clock');
    case 'epoch':
      return t('Epoch');
  }
}
