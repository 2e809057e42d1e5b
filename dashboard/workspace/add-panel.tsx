/** A panel that somebody puts together: several metrics, and formulas of them. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { formulaKey, metricSearch, parseFormula } from 'quark-sdk/workspace';
import { Button } from '../parts/controls.tsx';
import { errorText } from '../parts/notices.tsx';
import { toggled } from '../parts/signals.ts';
import { t, tn } from '../parts/t.ts';
import { PageDialog } from './dialog.tsx';
import { addPanel } from './edit-layout.ts';
import type { WorkspaceState } from './workspace-state.ts';

/** A list that is longer is searched. */
const MOST_LISTED = 100;

/** The section that such panels are in, unless they are moved. */
const section = (): string => t('Own charts');

const FORMULA_EXAMPLE = 'val/loss - train/loss';

/** Asks for metrics and a formula. */
export function AddPanel(props: {
  readonly state: WorkspaceState;
  readonly keys: readonly string[];
  readonly onClose: () => void;
}): JSX.Element {
  const { keys, onClose, state } = props;
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const formula = useSignal('');
  const problem = formulaProblem(formula.value, keys);
  const canAdd = (chosen.value.size > 0 || formula.value.trim() !== '') && problem === undefined;
  const add = (): void => {
    const formulas = formula.value.trim() === '' ? {} : { formulas: [formula.value.trim()] };
    const panel = { metrics: [...chosen.value], ...formulas };
    state.edit((view) => addPanel({ view, keys }, panel, section()));
    onClose();
  };
  return (
    <PageDialog title={t('Add a chart')} onClose={onClose}>
      <form
        class="add-panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (canAdd) add();
        }}
      >
        <FormulaField formula={formula} problem={problem} />
        <MetricChoices keys={keys} chosen={chosen} formula={formula} />
        <div class="row gap-8">
          <Button isPrimary type="submit" disabled={!canAdd}>
            {t('Add')}
          </Button>
          <span class="quiet small">
            {chosen.value.size > 0 && tn(chosen.value.size, '{count} metric', '{count} metrics')}
          </span>
        </div>
      </form>
    </PageDialog>
  );
}

function FormulaField(props: {
  readonly formula: Signal<string>;
  readonly problem: string | undefined;
}): JSX.Element {
  const { formula, problem } = props;
  return (
    <>
      <label>
        <span>{t('Formula')}</span>
        <input
          class="input code"
          value={formula.value}
          placeholder={FORMULA_EXAMPLE}
          maxLength={1000}
          aria-invalid={problem !== undefined}
          aria-describedby="formula-help"
          onInput={(event) => {
            formula.value = event.currentTarget.value;
          }}
        />
      </label>
      <p id="formula-help" class={problem === undefined ? 'quiet small' : 'problem small'}>
        {problem ??
          t(
            '+ - * / and parentheses, abs log exp sqrt min max; a / b divides, and a/b is a metric. Put other names in quotes.',
          )}
      </p>
    </>
  );
}

/** The metrics that a search finds, each with its switch and its way into the formula. */
function MetricChoices(props: {
  readonly keys: readonly string[];
  readonly chosen: Signal<ReadonlySet<string>>;
  readonly formula: Signal<string>;
}): JSX.Element {
  const { chosen, formula, keys } = props;
  const search = useSignal('');
  const found = keys.filter(searchOf(search.value));
  return (
    <>
      <label>
        <span>{t('Metrics')}</span>
        <input
          class="input"
          type="search"
          value={search.value}
          placeholder={t('Words, or /pattern/')}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
      </label>
      <ul class="metric-list">
        {found.slice(0, MOST_LISTED).map((key) => (
          <li key={key} class="row gap-8">
            <label class="row gap-8">
              <input
                type="checkbox"
                checked={chosen.value.has(key)}
                onChange={() => {
                  chosen.value = toggled(chosen.value, key);
                }}
              />
              <span class="breakable">{key}</span>
            </label>
            <Button
              isSmall
              class="push"
              title={t('Put this metric into the formula')}
              onClick={() => {
                formula.value = `${formula.value}${formulaKey(key)}`;
              }}
            >
              ƒ
            </Button>
          </li>
        ))}
      </ul>
      {found.length > MOST_LISTED && (
        <p class="quiet small">
          {tn(
            found.length - MOST_LISTED,
            '{count} more: search for it',
            '{count} more: search for them',
          )}
        </p>
      )}
    </>
  );
}

/** What is wrong with a formula; undefined for nothing, and while there is none. */
function formulaProblem(text: string, keys: readonly string[]): string | undefined {
  if (text.trim() === '') return undefined;
  try {
    const there = new Set(keys);
    const missing = parseFormula(text.trim()).metrics.find((key) => !there.has(key));
    return missing === undefined
      ? undefined
      : t('There is no metric “{name}” in this run.', { name: missing });
  } catch (error) {
    return errorText(error);
  }
}

/** What a text finds; everything where it is no pattern yet. */
export function searchOf(text: string): (key: string) => boolean {
  try {
    return metricSearch(text);
  } catch {
    return () => true;
  }
}
