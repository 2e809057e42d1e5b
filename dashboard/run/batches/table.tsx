/** Tables of batches, samples and classes. */
import type { ComponentChildren, JSX } from 'preact';
import { formatCount } from '../../parts/format.ts';
import { classText, sampleNames } from './batch-text.ts';
import { t } from '../../parts/t.ts';

/** One column: its title, and what it shows of a row. */
export type ShownColumn<R> = {
  readonly title: string;
  readonly hint?: string;
  /** Words stand on the left and may break; numbers stand on the right. */
  readonly isWords?: boolean;
  /** Class of the cells. */
  readonly className?: (row: R) => string;
  readonly cell: (row: R) => ComponentChildren;
};

/** A table in a frame. */
export function Table<R>(props: {
  readonly columns: readonly ShownColumn<R>[];
  readonly rows: readonly R[];
  readonly keyOf: (row: R) => string | number;
  /** Whether the first column names the rows. */
  readonly hasNames?: boolean;
  readonly class?: string;
}): JSX.Element {
  const { columns, rows } = props;
  return (
    <div class="card">
      <table class={`table ${props.class ?? ''}`}>
        <thead>
          <tr>
            {columns.map(({ title, hint, isWords }) => (
              <th key={title} scope="col" title={hint} class={isWords ? 'cell-words' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={props.keyOf(row)}>
              {columns.map(({ title, isWords, className, cell }, at) => {
                const words = isWords ? 'cell-words breakable' : '';
                return props.hasNames === true && at === 0 ? (
                  <th key={title} scope="row" class={words}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} class={`${words} ${className?.(row) ?? ''}`}>
                    {cell(row)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is known of the contents of a batch. */
export type BatchContents = {
  readonly sampleIds: readonly string[];
  readonly classCounts: Readonly<Record<string, unknown>> | null;
};

/** Columns of the samples of a batch, hard ones first and marked, and of its classes where any batch has some. */
export function contentColumns<R>(
  rows: readonly R[],
  contentsOf: (row: R) => BatchContents,
  hardIds: ReadonlySet<string>,
): readonly ShownColumn<R>[] {
  const samples: ShownColumn<R> = {
    title: t('Samples'),
    isWords: true,
    cell: (row) => <Samples sampleIds={contentsOf(row).sampleIds} hardIds={hardIds} />,
  };
  const classes: ShownColumn<R> = {
    title: t('Classes'),
    isWords: true,
    cell: (row) => {
      const found = classText(contentsOf(row).classCounts);
      return <span title={found?.exact}>{found?.text ?? '–'}</span>;
    },
  };
  const hasClasses = rows.some((row) => classText(contentsOf(row).classCounts) !== undefined);
  return hasClasses ? [samples, classes] : [samples];
}

function Samples(props: {
  readonly sampleIds: readonly string[];
  readonly hardIds: ReadonlySet<string>;
}): JSX.Element {
  const { names, more } = sampleNames(props.sampleIds, props.hardIds);
  return (
    <span title={props.sampleIds.join(', ')}>
      {names.length === 0 && '–'}
      {names.map(({ id, isHard }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          {isHard ? <span class="is-bad strong">{id}</span> : id}
        </span>
      ))}
      {more > 0 && ', …'}
    </span>
  );
}

/** A step or epoch. */
export function positionText(position: number | null): string {
  return position === null ? '–' : formatCount(position);
}
