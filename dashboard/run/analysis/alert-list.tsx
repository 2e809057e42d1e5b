/** Alerts as they are read wherever the page shows them: what was seen, since when, what to try. */
import type { JSX } from 'preact';
import type { AlertRecord } from 'quark-sdk';
import { formatCount, formatValue } from '../../parts/format.ts';
import type { XRange } from '../../charts/reduce.ts';

/** Items of evidence that are listed. */
const SHOWN_EVIDENCE = 12;

/** Alerts in the order given. */
export function AlertList(props: {
  readonly alerts: readonly Omit<AlertRecord, 'toDict'>[];
  /** What the steps of alerts are. */
  readonly axis: 'step' | 'epoch';
  /** Shows a stretch in a chart nearby. */
  readonly onShow: (range: XRange) => void;
}): JSX.Element {
  const { axis } = props;
  return (
    <ol>
      {props.alerts.map((alert) => {
        const { id, severity, title, fact, inference, stepStart, stepEnd } = alert;
        return (
          <li key={id} class={`alert alert-${severity}`} data-rule={alert.ruleId}>
            <header>
              <span class={`severity severity-${severity}`}>{severity}</span>
              <h3>{title}</h3>
              {stepStart !== null && (
                <button
                  type="button"
                  class="button button-small alert-place"
                  title="Show this stretch in the chart"
                  onClick={() => props.onShow({ min: stepStart, max: stepEnd ?? stepStart })}
                >
                  since {axis} {formatCount(stepStart)}
                  {stepEnd !== null && stepEnd !== stepStart ? ` (to ${formatCount(stepEnd)})` : ''}
                </button>
              )}
            </header>
            <p class="breakable">{fact}</p>
            <p class="alert-advice breakable">{inference}</p>
            <Evidence evidence={alert.evidence} />
          </li>
        );
      })}
    </ol>
  );
}

/** What an alert rests on. */
function Evidence({ evidence }: { readonly evidence: unknown }): JSX.Element | null {
  const items = Array.isArray(evidence) ? evidence.filter(isRecord) : [];
  if (items.length === 0) return null;
  const text = (item: object, name: string): string | undefined => {
    const value: unknown = Reflect.get(item, name);
    if (typeof value === 'number') return formatValue(value);
    return typeof value === 'string' ? value : undefined;
  };
  return (
    <details class="evidence">
      <summary>What it rests on</summary>
      <ul>
        {items.slice(0, SHOWN_EVIDENCE).map((item, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- evidence does not change
          <li key={at} class="breakable">
            <span class="mono">{text(item, 'source') ?? ''}</span> {text(item, 'summary') ?? ''}
            {text(item, 'observed_value') !== undefined && (
              <span class="quiet">
                {' '}
                seen {text(item, 'observed_value')}
                {text(item, 'threshold_value') === undefined
                  ? ''
                  : `, threshold ${text(item, 'threshold_value') ?? ''}`}
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
