/** The columns to choose from: those that vary among the shown runs first, metrics of the machine last. */
import type { RunColumn } from 'quark-sdk/workspace';
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button, IconButton } from '../parts/controls.tsx';
import { CutName } from '../parts/cut-text.tsx';
import { formatCount, formatValue } from '../parts/format.ts';
import { setting } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import {
  CURVE_PREFIX,
  fullTitle,
  INITIAL_LAYOUT,
  movedBy,
  withColumn,
  withPin,
  type ListColumn,
} from './model/columns.ts';
import { layout } from './list-state.ts';

/** What is offered at once; a search finds the rest. */
const MAX_OFFERED = 200;
/** What the table has of every run, whether any run has a value or not. */
const FIELDS = [
  'status',
  'project',
  'tags',
  'groups',
  'jobType',
  CURVE_PREFIX,
  'startedAt',
  'durationMs',
  'endedAt',
  'updatedAt',
  'health',
  'alerts',
  'host',
  'notes',
  'description',
  'gitCommit',
  'parentRunId',
  'configRevision',
  'id',
];
const STATISTICS = ['last', 'best', 'min', 'max'] as const;

type Offered = {
  /** Paths of the columns that it stands for, by their names: one, or one for each statistic of a metric. */
  readonly choices: readonly { readonly path: string; readonly label: string }[];
  readonly title: string;
  readonly detail: string;
  readonly words: string;
};

type PickerProps = {
  readonly columns: ReadonlySignal<readonly RunColumn[]>;
  readonly onClose: () => void;
};

/** A dialog. */
export default function ColumnPicker(props: PickerProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="column-picker floating"
      aria-labelledby="column-picker-title"
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <header class="row spread gap-10">
        <h2 id="column-picker-title">{t('Columns')}</h2>
        <IconButton icon="close" label={t('Close')} onClick={close} />
      </header>
      <div class="picker-parts">
        <section class="picker-part">
          <h3>{t('Shown')}</h3>
          <ol class="picker-list">
            {layout.value.map((column) => (
              <ShownColumn key={column.path} column={column} />
            ))}
          </ol>
          <Button isSmall onClick={setting(layout, INITIAL_LAYOUT)}>
            {t('As at first')}
          </Button>
        </section>
        <Available columns={props.columns} />
      </div>
    </dialog>
  );
}

function Available(props: Pick<PickerProps, 'columns'>): JSX.Element {
  const search = useSignal('');
  const offered = useComputed(() => offeredOf(props.columns.value));
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = offered.value.filter((one) => words.every((word) => one.words.includes(word)));
  return (
    <section class="picker-part">
      <h3>{t('Available')}</h3>
      <input
        class="input"
        type="search"
        aria-label={t('Search columns')}
        placeholder={t('Search columns')}
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
        }}
      />
      <ul class="picker-list">
        {found.slice(0, MAX_OFFERED).map((one) => (
          <OfferedColumn key={one.choices[0]?.path} offered={one} />
        ))}
        {found.length > MAX_OFFERED && (
          <li class="quiet small">
            {t('{count} more: search for them.', {
              count: formatCount(found.length - MAX_OFFERED),
            })}
          </li>
        )}
        {found.length === 0 && <li class="quiet small">{t('No column is called so.')}</li>}
      </ul>
    </section>
  );
}

function offeredOf(columns: readonly RunColumn[]): readonly Offered[] {
  const known = new Set(FIELDS);
  const found = columns.filter(({ path }) => path !== 'name' && !known.has(path));
  const isFirst = ({ distinct, isMachine }: RunColumn): boolean => distinct > 1 && !isMachine;
  return [
    ...found.filter(isFirst).map(offer),
    ...FIELDS.map((path) =>
      offer({ path, kind: 'text', runs: 0, distinct: 0, examples: [], isMachine: false }),
    ),
    ...found.filter((one) => !isFirst(one) && !one.isMachine).map(offer),
    ...found.filter(({ isMachine }) => isMachine).map(offer),
  ];
}

function offer({ path, kind, distinct, examples, runs }: RunColumn): Offered {
  const title = kind === 'metric' ? path.replace(/^metrics\./, '') : fullTitle(path);
  const choices =
    kind === 'metric'
      ? [
          ...STATISTICS.map((statistic) => ({ path: `${path}.${statistic}`, label: statistic })),
          { path: `${CURVE_PREFIX}${title}`, label: t('curve') },
        ]
      : [{ path, label: '' }];
  const detail =
    runs === 0
      ? ''
      : kind === 'metric'
        ? t('{runs} runs', { runs: formatCount(runs) })
        : distinct === 1
          ? t('always {value}', { value: exampleText(examples[0] ?? '') })
          : t('{count} values: {examples}', {
              count: formatCount(distinct),
              examples: examples.slice(0, 4).map(exampleText).join(', '),
            });
  return { choices, title, detail, words: `${path} ${title}`.toLowerCase() };
}

function exampleText(value: string | number | boolean): string {
  return typeof value === 'number' ? formatValue(value) : String(value);
}

function OfferedColumn({ offered }: { readonly offered: Offered }): JSX.Element {
  const shown = new Set(layout.value.map(({ path }) => path));
  const toggle = (path: string): void => {
    layout.value = withColumn(layout.value, path, !shown.has(path));
  };
  const [only, another] = offered.choices;
  const about = (
    <span class="stack grow picker-words">
      <span class="row">
        <CutName text={offered.title} />
      </span>
      {offered.detail !== '' && <span class="quiet small ellipsis">{offered.detail}</span>}
    </span>
  );
  if (only !== undefined && another === undefined)
    return (
      <li>
        <label class="row gap-8 picker-row">
          <input
            type="checkbox"
            checked={shown.has(only.path)}
            onChange={() => toggle(only.path)}
          />
          {about}
        </label>
      </li>
    );
  return (
    <li>
      <div class="row wrap gap-6 picker-row" role="group" aria-label={offered.title}>
        {about}
        <span class="row gap-5 wrap">
          {offered.choices.map(({ path, label }) => (
            <button
              key={path}
              type="button"
              class="chip chip-small"
              aria-pressed={shown.has(path)}
              onClick={() => toggle(path)}
            >
              {label}
            </button>
          ))}
        </span>
      </div>
    </li>
  );
}

function ShownColumn({ column }: { readonly column: ListColumn }): JSX.Element {
  const { path, isPinned } = column;
  const name = fullTitle(path);
  return (
    <li class="row gap-5 picker-row">
      <span class="row grow picker-words">
        <CutName text={name} />
      </span>
      <IconButton
        icon="pin"
        class={isPinned ? 'is-on' : ''}
        label={t('Pin {name}', { name })}
        aria-pressed={isPinned}
        onClick={() => {
          layout.value = withPin(layout.value, path, !isPinned);
        }}
      />
      <IconButton
        icon="up"
        label={t('Move {name} to the left', { name })}
        onClick={() => {
          layout.value = movedBy(layout.value, path, -1);
        }}
      />
      <IconButton
        icon="down"
        label={t('Move {name} to the right', { name })}
        onClick={() => {
          layout.value = movedBy(layout.value, path, 1);
        }}
      />
      <IconButton
        icon="close"
        label={t('Hide {name}', { name })}
        disabled={path === 'name'}
        onClick={() => {
          layout.value = withColumn(layout.value, path, false);
        }}
      />
    </li>
  );
}
