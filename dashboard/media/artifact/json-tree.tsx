/** JSON as a tree whose branches open; long lists come in parts. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JsonValue } from 'quark-sdk';
import { formatCount } from '../../parts/format.ts';
import { adding } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';

const PAGE = 100;
const MAX_TEXT_CHARS = 2000;

/** The tree of a value. */
export function JsonTree({ value }: { readonly value: JsonValue }): JSX.Element {
  return (
    <ul class="json-tree code">
      <Branch name={undefined} value={value} isOpen />
    </ul>
  );
}

function Branch(props: {
  readonly name: string | undefined;
  readonly value: JsonValue;
  readonly isOpen: boolean;
}): JSX.Element {
  const { name, value } = props;
  const isOpen = useSignal(props.isOpen);
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (typeof value !== 'object' || value === null)
    return (
      <li>
        {label}
        <Leaf value={value} />
      </li>
    );
  const entries = Object.entries(value);
  const count = Array.isArray(value)
    ? tn(entries.length, 'list of {count} item', 'list of {count} items')
    : tn(entries.length, 'object of {count} field', 'object of {count} fields');
  return (
    <li>
      <details
        open={isOpen.value}
        onToggle={(event) => {
          isOpen.value = event.currentTarget.open;
        }}
      >
        <summary>
          {label}
          <span class="quiet">{count}</span>
        </summary>
        {isOpen.value && <Entries entries={entries} />}
      </details>
    </li>
  );
}

function Entries({ entries }: { readonly entries: readonly [string, JsonValue][] }): JSX.Element {
  const pages = useSignal(1);
  const shown = entries.slice(0, PAGE * pages.value);
  return (
    <ul>
      {shown.map(([name, value]) => (
        <Branch key={name} name={name} value={value} isOpen={false} />
      ))}
      {shown.length < entries.length && (
        <li>
          <button type="button" class="link" onClick={adding(pages, 1)}>
            {t('{count} more', { count: formatCount(entries.length - shown.length) })}
          </button>
        </li>
      )}
    </ul>
  );
}

function Leaf({ value }: { readonly value: string | number | boolean | null }): JSX.Element {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  const cut = text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
  return <span class={`breakable json-${typeof value}`}>{cut}</span>;
}
