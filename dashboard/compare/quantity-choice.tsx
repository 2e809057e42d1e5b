/** The choice of a setting or a metric for an axis. */
import type { JSX } from 'preact';
import { runQuantity } from 'quark-sdk/analysis';
import { t } from '../parts/t.ts';
import { quantityName, statisticsOf, type Quantities } from './quantities.ts';

/** A list of settings that differ and of metrics. */
export function QuantityChoice(props: {
  readonly label: string;
  readonly quantities: Quantities;
  /** The id that is chosen. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** Whether only metrics can be chosen. */
  readonly isMetric?: boolean;
}): JSX.Element {
  const { isMetric = false, label, onChange, quantities, value } = props;
  const { metrics, settings } = quantities;
  const ids = [...(isMetric ? [] : settings), ...metrics.flatMap(statisticsOf)];
  return (
    <label class="compare-choice inline gap-8 muted small">
      <span>{label}</span>
      <select class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {!ids.includes(value) && <option value={value}>{nameOf(value)}</option>}
        {!isMetric && settings.length > 0 && (
          <optgroup label={t('Settings')}>
            {settings.map((id) => (
              <option key={id} value={id}>
                {nameOf(id)}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label={t('Metrics')}>
          {metrics.flatMap(statisticsOf).map((id) => (
            <option key={id} value={id}>
              {nameOf(id)}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}

function nameOf(id: string): string {
  const quantity = runQuantity([], id);
  return quantity === undefined ? id : quantityName(quantity);
}
