/** A block of a report while it is written. Everything is a labelled field or a button, so that it works by keyboard. */
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import { readReportCurves, readReportRows, type ReportBlock } from 'quark-sdk/workspace';
import { Button, IconButton } from '../parts/controls.tsx';
import { t } from '../parts/t.ts';
import { runTask } from '../parts/tasks.ts';
import { pageText } from './page-text.ts';

/** What is done with a block. */
export type BlockActs = {
  readonly onChange: (block: ReportBlock) => void;
  /** Undefined for the first one. */
  readonly onUp: (() => void) | undefined;
  /** Undefined for the last one. */
  readonly onDown: (() => void) | undefined;
  readonly onRemove: () => void;
  readonly onFailure: (error: unknown) => void;
};

type EditorProps = BlockActs & {
  readonly store: Store;
  readonly project: string;
  readonly block: ReportBlock;
  /** Counted from 1. */
  readonly number: number;
};

/** The fields of a block, and the buttons that move and remove it. */
export function BlockEditor(props: EditorProps): JSX.Element {
  const { block, number, onChange } = props;
  return (
    <fieldset class="report-editor stack gap-8">
      <legend class="sr-only">{t('Block {number}', { number: String(number) })}</legend>
      <div class="row gap-6">
        {block.kind !== 'text' && <FreezeButton {...props} block={block} />}
        <span class="grow" />
        <IconButton
          icon="up"
          label={t('Move block {number} up', { number: String(number) })}
          disabled={props.onUp === undefined}
          onClick={props.onUp}
        />
        <IconButton
          icon="down"
          label={t('Move block {number} down', { number: String(number) })}
          disabled={props.onDown === undefined}
          onClick={props.onDown}
        />
        <IconButton
          icon="trash"
          label={t('Remove block {number}', { number: String(number) })}
          onClick={props.onRemove}
        />
      </div>
      <BlockFields block={block} onChange={onChange} />
    </fieldset>
  );
}

function BlockFields({ block, onChange }: Pick<EditorProps, 'block' | 'onChange'>): JSX.Element {
  if (block.kind === 'text')
    return (
      <label class="stack gap-5">
        <span class="quiet small">{t('Text, as Markdown')}</span>
        <textarea
          rows={Math.min(20, Math.max(4, block.text.split('\n').length + 1))}
          value={block.text}
          onInput={({ currentTarget }) => onChange({ ...block, text: currentTarget.value })}
        />
      </label>
    );
  return (
    <>
      {block.kind === 'chart' ? (
        <Field
          label={t('Metric')}
          value={block.metric}
          onInput={(metric) => onChange({ ...live(block), metric })}
        />
      ) : (
        <Field
          label={t('Columns, with commas')}
          value={block.columns.join(', ')}
          onInput={(text) => onChange({ ...live(block), columns: columnsIn(text) })}
        />
      )}
      <Field
        label={t('Runs, as a query; all without one')}
        value={block.where}
        onInput={(where) => onChange({ ...live(block), where })}
      />
    </>
  );
}

/** What was frozen was of another query. */
function live<B extends Extract<ReportBlock, { kind: 'chart' | 'runs' }>>(block: B): B {
  return { ...block, frozen: undefined };
}

function columnsIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

function Field(props: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}): JSX.Element {
  return (
    <label class="stack gap-5">
      <span class="quiet small">{props.label}</span>
      <input
        type="text"
        spellcheck={false}
        defaultValue={props.value}
        onChange={({ currentTarget }) => props.onInput(currentTarget.value)}
      />
    </label>
  );
}

function FreezeButton(
  props: EditorProps & { readonly block: Extract<ReportBlock, { kind: 'chart' | 'runs' }> },
): JSX.Element {
  const { block, onChange, onFailure, project, store } = props;
  const freeze = async (): Promise<void> => {
    try {
      await runTask(t('Reading the runs of the block'), async () => {
        if (block.kind === 'chart')
          onChange({ ...block, frozen: await readReportCurves({ store, project }, block) });
        else {
          const scope = { store, project, ...pageText() };
          onChange({ ...block, frozen: await readReportRows(scope, block) });
        }
      });
    } catch (error) {
      onFailure(error);
    }
  };
  return block.frozen === undefined ? (
    <Button isSmall onClick={() => void freeze()} title={t('Stores what it shows now')}>
      {t('Freeze')}
    </Button>
  ) : (
    <Button isSmall onClick={() => onChange(live(block))} title={t('Shows the runs as they are')}>
      {t('Frozen: make live')}
    </Button>
  );
}
