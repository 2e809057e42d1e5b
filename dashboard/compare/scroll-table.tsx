/** Tables of the comparison: they scroll in themselves, and their first column and their head stay in sight. */
import type { ComponentChildren, JSX } from 'preact';

/** A table with the cells of its head ({@link Head}) and its rows. */
export function ScrollTable(props: {
  readonly label: string;
  readonly head: ComponentChildren;
  /** The rows of the body. */
  readonly children: ComponentChildren;
  /** More classes. */
  readonly class?: string;
}): JSX.Element {
  return (
    <div
      class={`compare-scroll card ${props.class ?? ''}`}
      role="region"
      aria-label={props.label}
      tabIndex={0}
    >
      <table class="compare-table">
        <thead>
          <tr>{props.head}</tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

/** The head of a column. */
export function Head(props: {
  readonly children: ComponentChildren;
  /** The column that names the rows. */
  readonly isFirst?: boolean;
  readonly isNumber?: boolean;
}): JSX.Element {
  const name = props.isFirst === true ? 'is-first' : props.isNumber === true ? 'is-number' : '';
  return (
    <th scope="col" class={name}>
      {props.children}
    </th>
  );
}

/** The name of a row. */
export function RowHead({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <th scope="row" class="is-first">
      {children}
    </th>
  );
}
