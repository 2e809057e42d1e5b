/** A box to check. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { toggling } from '../parts/signals.ts';

/** A box to check, beside its words. */
export function Check(props: {
  readonly label: string;
  readonly on: Signal<boolean>;
}): JSX.Element {
  return (
    <label class="switch">
      <input type="checkbox" checked={props.on.value} onChange={toggling(props.on)} />
      {props.label}
    </label>
  );
}
