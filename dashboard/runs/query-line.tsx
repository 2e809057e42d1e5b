/** The line in which runs are searched: it completes what is typed, and shows where it cannot be read. */
import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useMemo, useRef } from 'preact/hooks';
import type { QuerySuggestion, RunColumn } from 'quark-sdk/workspace';
import { IconButton } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { t } from '../parts/t.ts';
import { line } from './list-state.ts';
import { QueryField } from './model/query-field.ts';
import type { LineProblem, TableData } from './model/table-source.ts';

type QueryLineProps = {
  readonly data: TableData;
  /** What a query may be about; asked when the field gets the focus. */
  readonly columns: ReadonlySignal<readonly RunColumn[]>;
  readonly wantColumns: () => void;
  /** Somebody goes down to the runs. */
  readonly onDown: () => void;
};

/** The field; the element is `runs-query`. */
export function QueryLine(props: QueryLineProps): JSX.Element {
  const { data, columns } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const field = useMemo(() => new QueryField(data, line, columns), [data, columns]);
  useEffect(() => field.follow(line.value), [field, line.value]);
  useEffect(() => () => field.stop(), [field]);
  const text = field.text.value;
  const take = (suggestion: QuerySuggestion): void => {
    const at = field.take(suggestion);
    // The field gets its value with the next drawing.
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(at, at);
    });
  };
  return (
    <div class="query-line">
      <label class="search">
        <Icon name="search" />
        <QueryInput {...props} id={id} field={field} input={input} take={take} />
        {text === '' && <kbd aria-hidden="true">/</kbd>}
      </label>
      {text !== '' && (
        <IconButton
          class="query-clear"
          icon="close"
          label={t('Clear the query')}
          onClick={() => {
            field.apply('', true);
            input.current?.focus();
          }}
        />
      )}
      <Suggestions id={id} field={field} take={take} />
      <Problem id={id} text={text} problem={data.problemOf(text)} />
    </div>
  );
}

type FieldProps = {
  readonly id: string;
  readonly field: QueryField;
  readonly take: (suggestion: QuerySuggestion) => void;
};

function QueryInput(
  props: QueryLineProps & FieldProps & { readonly input: { current: HTMLInputElement | null } },
): JSX.Element {
  const { id, field, input } = props;
  const problem = props.data.problemOf(field.text.value);
  const isListed = field.suggestions.length > 0;
  const follow = (): void => {
    field.caret.value = input.current?.selectionStart ?? field.text.peek().length;
  };
  return (
    <input
      ref={input}
      id="runs-query"
      class="input code"
      type="text"
      role="combobox"
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      placeholder={t('Search, or a query: config.lr < 1e-3 and tag:baseline')}
      aria-label={t('Filter runs by words or a query')}
      aria-expanded={isListed}
      aria-controls={`${id}-list`}
      aria-autocomplete="list"
      aria-activedescendant={
        isListed && field.chosen.value >= 0 ? `${id}-${field.chosen.value}` : undefined
      }
      aria-invalid={problem !== undefined}
      aria-describedby={problem === undefined ? undefined : `${id}-problem`}
      value={field.text.value}
      onInput={({ currentTarget: { value, selectionStart } }) =>
        field.type(value, selectionStart ?? value.length)
      }
      onFocus={() => {
        props.wantColumns();
        follow();
      }}
      onBlur={() => field.close()}
      onClick={follow}
      onKeyUp={({ key }) => {
        if (key === 'ArrowLeft' || key === 'ArrowRight') follow();
      }}
      onKeyDown={(event) => {
        if (isKeyTaken(event, props)) event.preventDefault();
      }}
    />
  );
}

/** What a key does in the field. */
function isKeyTaken(
  { key, currentTarget }: KeyboardEvent,
  { field, take, onDown }: Pick<FieldProps, 'field' | 'take'> & Pick<QueryLineProps, 'onDown'>,
): boolean {
  const chosen = field.suggestions[field.chosen.value];
  switch (key) {
    case 'ArrowDown':
      if (field.text.value === '' || !field.step(1)) {
        field.close();
        onDown();
      }
      return true;
    case 'ArrowUp':
      return field.step(-1);
    case 'Tab':
    case 'Enter':
      if (chosen !== undefined) {
        take(chosen);
        return true;
      }
      if (key === 'Tab') return false;
      field.apply(field.text.value, true);
      field.close();
      return true;
    case 'Escape':
      if (!field.close() && currentTarget instanceof HTMLElement) currentTarget.blur();
      return false;
    default:
      return false;
  }
}

function Suggestions({ id, field, take }: FieldProps): JSX.Element {
  const { suggestions } = field;
  return (
    <ul
      id={`${id}-list`}
      class="suggestions floating"
      role="listbox"
      aria-label={t('Suggestions')}
      hidden={suggestions.length === 0}
    >
      {suggestions.map((suggestion, at) => (
        <li
          key={`${suggestion.kind} ${suggestion.label}`}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === field.chosen.value}
          // Before the field loses its focus.
          onPointerDown={(event) => {
            event.preventDefault();
            take(suggestion);
          }}
        >
          <span class="ellipsis code">{suggestion.label}</span>
          <span class="quiet small ellipsis">{suggestion.detail}</span>
        </li>
      ))}
    </ul>
  );
}

/** Where a query cannot be read, and why. */
function Problem(props: {
  readonly id: string;
  readonly text: string;
  readonly problem: LineProblem | undefined;
}): JSX.Element | null {
  const { text, problem } = props;
  if (problem === undefined) return null;
  const { from, to, message } = problem;
  return (
    <p id={`${props.id}-problem`} class="query-problem small" role="status">
      <span class="code quiet">{text.slice(0, from)}</span>
      <mark class="code">{text.slice(from, to) || '▲'}</mark>
      <span class="code quiet">{text.slice(to)}</span>
      <span class="is-bad"> {message}</span>
    </p>
  );
}
