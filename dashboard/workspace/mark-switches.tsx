/** Which kinds of marks charts have: a switch each, at each of the three levels. */
import type { JSX } from 'preact';
import { CHART_MARK_KINDS, type ChartMarkKind } from 'quark-sdk/workspace';
import { t } from '../parts/t.ts';

/** A switch for each kind. */
export function MarkSwitches(props: {
  readonly hidden: readonly ChartMarkKind[];
  readonly onChange: (hidden: readonly ChartMarkKind[]) => void;
}): JSX.Element {
  const { hidden, onChange } = props;
  return (
    <>
      {CHART_MARK_KINDS.map((kind) => (
        <label key={kind} class="switch">
          <input
            type="checkbox"
            checked={!hidden.includes(kind)}
            onChange={({ currentTarget }) =>
              onChange(
                CHART_MARK_KINDS.filter((one) =>
                  one === kind ? !currentTarget.checked : hidden.includes(one),
                ),
              )
            }
          />
          <span>{kindText(kind)}</span>
        </label>
      ))}
    </>
  );
}

/** The kinds that are marked, in words. */
export function shownMarksText(hidden: readonly ChartMarkKind[]): string {
  const shown = CHART_MARK_KINDS.filter((kind) => !hidden.includes(kind));
  return shown.length === 0 ? t('nothing') : shown.map(kindText).join(', ');
}

function kindText(kind: ChartMarkKind): string {
  switch (kind) {
    case 'alert':
      return t('Alerts');
    case 'phase':
      return t('Phases');
    case 'event':
      return t('Events');
    case 'note':
      return t('Notes');
  }
}
