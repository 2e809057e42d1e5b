/** The filters above the list. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { RunSummary } from 'quark-sdk';
import { Chip } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { countBy } from '../parts/maps.ts';
import { SHOWN_STATUSES, shownStatus, statusLabel } from '../parts/run-status.tsx';
import { toggled } from '../parts/signals.ts';
import { query, toggleTag } from './list-state.ts';

/** By text, status and tag. */
export function Filters({ runs }: { readonly runs: readonly RunSummary[] }): JSX.Element {
  const counts = countBy(runs, shownStatus);
  const { statuses, tags } = query.value;
  return (
    <div class="filters row wrap">
      <Search />
      <div class="row wrap gap-6" role="group" aria-label="Filter by status">
        {SHOWN_STATUSES.map((status) => (
          <Chip
            key={status}
            isOn={statuses.has(status)}
            count={String(counts.get(status) ?? 0)}
            onClick={() => {
              query.value = { ...query.value, statuses: toggled(statuses, status) };
            }}
          >
            {statusLabel(status)}
          </Chip>
        ))}
      </div>
      {[...tags].map((tag) => (
        <Chip
          key={tag}
          isOn
          aria-label={`Stop filtering by tag ${tag}`}
          onClick={() => toggleTag(tag)}
        >
          {tag} <Icon name="close" />
        </Chip>
      ))}
    </div>
  );
}

/** `/` goes here from anywhere on the page, the arrow down from here to the first run. */
function Search(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const inField =
        event.target instanceof HTMLElement && event.target.closest('input, textarea, select');
      if (event.key !== '/' || inField !== null || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <label class="search">
      <Icon name="search" />
      <input
        ref={input}
        class="input"
        type="search"
        placeholder="Filter by project, tag, id"
        aria-label="Filter runs by text"
        value={query.value.text}
        onInput={(event) => {
          query.value = { ...query.value, text: event.currentTarget.value };
        }}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          document.querySelector<HTMLElement>('.run-row a')?.focus();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}
