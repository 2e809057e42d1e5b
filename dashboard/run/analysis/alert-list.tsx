/** Alerts as they are read wherever the page shows them: what was seen, since when, what to try. */
import type { JSX } from 'preact';
import type { AlertRecord } from 'quark-sdk';
import type { AlertGroup } from 'quark-sdk/analysis';
import { Button } from '../../parts/controls.tsx';
import { formatCount, formatValue } from '../../parts/format.ts';
import type { XRange } from '../../charts/reduce.ts';
import './alerts.css';
import { t } from '../../parts/t.ts';

/** The colour of each severity. */
const TONES: Readonly<Record<AlertRecord['severity'], string>> = {
  info: 'done',
  warning: 'paused',
  error: 'bad',
  critical: 'bad',
};

/** Items of evidence that are listed. */
const SHOWN_EVIDENCE = 12;

/** Causes in the order given, each with what follows from it. */
export function AlertList(props: {
  readonly groups: readonly AlertGroup<Omit<AlertRecord, 'toDict'>>[];
  /** What the steps of alerts are. */
  readonly axis: 'step' | 'epoch';
  /** Shows these steps in a chart nearby. */
  readonly onShow: (range: XRange) => void;
  /** Draws more below a cause and its consequences. */
  readonly footOf?: (group: AlertGroup<Omit<AlertRecord, 'toDict'>>) => JSX.Element | null;
  /** The alert that somebody came to see; see {@link isMeant}. */
  readonly meant?: string;
  /** Whether the alerts were silenced: their titles are struck through. */
  readonly isSilenced?: boolean;
}): JSX.Element {
  const { axis, footOf, isSilenced = false, meant = '' } = props;
  return (
    <ol class="stack gap-12">
      {props.groups.map((group) => {
        const { cause, consequences, severity } = group;
        const { id, ruleId, title, fact, inference, stepStart, stepEnd } = cause;
        return (
          <li
            key={id}
            ref={isMeant(group, meant) ? showElement : null}
            class={`alert card tone-${TONES[severity]}`}
            data-rule={ruleId}
            data-meant={isMeant(group, meant)}
          >
            <header class="row wrap">
              <span class="severity strong">{severity}</span>
              <h3>{isSilenced ? <s>{title}</s> : title}</h3>
              {stepStart !== null && (
                <Button
                  isSmall
                  class="push"
                  title={t('Show these steps in the chart')}
                  onClick={() => props.onShow({ min: stepStart, max: stepEnd ?? stepStart })}
                >
                  {sinceText(axis, stepStart, stepEnd ?? stepStart)}
                </Button>
              )}
            </header>
            <p class="breakable">{fact}</p>
            <p class="alert-advice muted breakable">{inference}</p>
            <Consequences alerts={consequences} />
            <Evidence evidence={cause.evidence} isOpen={isMeant(group, meant)} />
            {footOf?.(group)}
          </li>
        );
      })}
    </ol>
  );
}

/** Whether an address means this group: `RULE`, or `RULE:STEP` for the alert that begins there, of the cause or of what follows from it. */
export function isMeant(
  { cause, consequences }: AlertGroup<Pick<AlertRecord, 'id' | 'ruleId' | 'stepStart'>>,
  meant: string,
): boolean {
  return [cause, ...consequences].some(
    ({ ruleId, stepStart }) => meant === ruleId || meant === `${ruleId}:${stepStart}`,
  );
}

/** Brings the alert into sight that somebody came to see, when it comes. */
function showElement(element: HTMLLIElement | null): void {
  element?.scrollIntoView({ block: 'center' });
}

function sinceText(axis: 'epoch' | 'step', start: number, end: number): string {
  const values = { start: formatCount(start), end: formatCount(end) };
  if (end === start)
    return axis === 'epoch' ? t('since epoch {start}', values) : t('since step {start}', values);
  return axis === 'epoch'
    ? t('since epoch {start} (to {end})', values)
    : t('since step {start} (to {end})', values);
}

function seenText(value: string, threshold: string | undefined): string {
  return threshold === undefined
    ? t('seen {value}', { value })
    : t('seen {value}, threshold {threshold}', { value, threshold });
}

/** What has the same cause. */
function Consequences(props: {
  readonly alerts: readonly Omit<AlertRecord, 'toDict'>[];
}): JSX.Element | null {
  if (props.alerts.length === 0) return null;
  return (
    <>
      <p class="small quiet">{t('What follows from it:')}</p>
      <ul class="consequences small">
        {props.alerts.map(({ id, fact, ruleId, severity }) => (
          <li key={id} class={`breakable tone-${TONES[severity]}`} data-rule={ruleId}>
            <span class="severity strong">{severity}</span> {fact}
          </li>
        ))}
      </ul>
    </>
  );
}

/** What an alert rests on. */
function Evidence(props: {
  readonly evidence: unknown;
  readonly isOpen: boolean;
}): JSX.Element | null {
  const { evidence, isOpen } = props;
  const items = Array.isArray(evidence) ? evidence.filter(isRecord) : [];
  if (items.length === 0) return null;
  const text = (item: object, name: string): string | undefined => {
    const value: unknown = Reflect.get(item, name);
    if (typeof value === 'number') return formatValue(value);
    return typeof value === 'string' ? value : undefined;
  };
  return (
    <details class="evidence small" open={isOpen}>
      <summary class="quiet">{t('What it rests on')}</summary>
      <ul>
        {items.slice(0, SHOWN_EVIDENCE).map((item, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- evidence does not change
          <li key={at} class="breakable">
            <span class="mono">{text(item, 'source') ?? ''}</span> {text(item, 'summary') ?? ''}
            {text(item, 'observed_value') !== undefined && (
              <span class="quiet">
                {' '}
                {seenText(text(item, 'observed_value') ?? '', text(item, 'threshold_value'))}
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
