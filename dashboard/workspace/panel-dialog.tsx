/** What can be chosen for one panel, and for one section. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { VIEW_LIMITS, type ChartChoices, type ViewPanel } from 'quark-sdk/workspace';
import { Button } from '../parts/controls.tsx';
import { t } from '../parts/t.ts';
import { ChoiceFields } from './choice-fields.tsx';
import { PageDialog } from './dialog.tsx';
import {
  changePanel,
  changeSection,
  removePanel,
  shiftSection,
  type Changes,
} from './edit-layout.ts';
import type { ShownPanel, ShownSection } from './layout.ts';
import type { WorkspaceState } from './workspace-state.ts';

type Edited = {
  readonly state: WorkspaceState;
  /** All metrics that there are. */
  readonly keys: readonly string[];
  readonly onClose: () => void;
};

type EditedPanel = Edited & { readonly shown: ShownPanel; readonly onFull: () => void };

type ChangePanel = { readonly change: (changes: Changes<ViewPanel>) => void };

/** Title, size, position and settings of a panel. */
export function PanelDialog(
  props: EditedPanel & {
    /** What the section says of charts. */
    readonly section: ChartChoices;
  },
): JSX.Element {
  const { keys, onClose, section, shown, state } = props;
  const { id, panel } = shown;
  const change = (changes: Changes<ViewPanel>): void =>
    state.edit((view) => changePanel({ view, keys }, id, changes));
  return (
    <PageDialog title={shown.title} onClose={onClose}>
      <PanelButtons {...props} change={change} />
      <SizeFields shown={shown} change={change} />
      <ChoiceFields
        own={panel}
        above={[state.choices.value, section]}
        metrics={keys}
        onChange={change}
      />
    </PageDialog>
  );
}

function PanelButtons(props: EditedPanel & ChangePanel): JSX.Element {
  const { change, keys, onClose, shown, state } = props;
  const { id, panel } = shown;
  const isPinned = panel.isPinned === true;
  return (
    <div class="row wrap gap-8">
      <Button isSmall onClick={() => change({ isPinned: isPinned ? undefined : true })}>
        {isPinned ? t('Unpin') : t('Pin to the top')}
      </Button>
      <Button
        isSmall
        onClick={() => {
          change({ isHidden: true });
          onClose();
        }}
      >
        {t('Hide')}
      </Button>
      <Button
        isSmall
        onClick={() => {
          onClose();
          props.onFull();
        }}
      >
        {t('Full screen')}
      </Button>
      {(panel.formulas?.length ?? 0) > 0 && (
        <Button
          isSmall
          onClick={() => {
            state.edit((view) => removePanel({ view, keys }, id));
            onClose();
          }}
        >
          {t('Remove')}
        </Button>
      )}
    </div>
  );
}

function SizeFields({ change, shown }: ChangePanel & { readonly shown: ShownPanel }): JSX.Element {
  const { panel } = shown;
  const title = useDraft(panel.title ?? '', (text) => change({ title: text || undefined }));
  const height = useDraft(String(panel.height ?? ''), (text) =>
    change({ height: text === '' ? undefined : Math.round(Number(text)) }),
  );
  return (
    <div class="choice-fields">
      <label>
        <span>{t('Title')}</span>
        <input class="input" placeholder={shown.title} maxLength={200} {...title} />
      </label>
      <ColumnChoice
        label={t('Width in columns')}
        value={panel.width}
        inherited={t('default: {value}', { value: 1 })}
        onChange={(width) => change({ width })}
      />
      <label>
        <span>{t('Height in pixels')}</span>
        <input
          class="input"
          type="number"
          min={VIEW_LIMITS.minHeight}
          max={VIEW_LIMITS.maxHeight}
          step={10}
          placeholder={t('default: {value}', { value: 230 })}
          {...height}
        />
      </label>
    </div>
  );
}

/** Heading, columns, position and settings of a section. */
export function SectionDialog(props: Edited & { readonly shown: ShownSection }): JSX.Element {
  const { keys, onClose, shown, state } = props;
  const { id, section } = shown;
  const change = (changes: Parameters<typeof changeSection>[2]): void =>
    state.edit((view) => changeSection({ view, keys }, id, changes));
  const title = useDraft(shown.title, (text) => {
    if (text !== '') change({ title: text });
  });
  const shift = (by: number): void => state.edit((view) => shiftSection({ view, keys }, id, by));
  return (
    <PageDialog title={t('Section {title}', { title: shown.title })} onClose={onClose}>
      <div class="row wrap gap-8">
        <Button isSmall onClick={() => shift(-1)}>
          {t('Move up')}
        </Button>
        <Button isSmall onClick={() => shift(1)}>
          {t('Move down')}
        </Button>
      </div>
      <div class="choice-fields">
        <label>
          <span>{t('Title')}</span>
          <input class="input" maxLength={200} {...title} />
        </label>
        <ColumnChoice
          label={t('Charts in a row')}
          value={section.columns}
          inherited={t('from the workspace')}
          onChange={(columns) => change({ columns })}
        />
      </div>
      <ChoiceFields own={section} above={[state.choices.value]} metrics={keys} onChange={change} />
    </PageDialog>
  );
}

type FieldEvent = { readonly currentTarget: HTMLInputElement };

/** What a field has that keeps its unfinished text while the dialog is drawn again, as it is when a change was saved or the run has grown. `onEntered` is told of what is valid. */
function useDraft(
  stored: string,
  onEntered: (text: string) => void,
): {
  readonly value: string;
  readonly onInput: (event: FieldEvent) => void;
  readonly onChange: (event: FieldEvent) => void;
} {
  const draft = useSignal<string | undefined>(undefined);
  return {
    value: draft.value ?? stored,
    onInput: ({ currentTarget }) => {
      draft.value = currentTarget.value;
    },
    onChange: ({ currentTarget }) => {
      if (!currentTarget.checkValidity()) return;
      onEntered(currentTarget.value.trim());
      draft.value = undefined;
    },
  };
}

/** A number of columns, or what the level above says. */
function ColumnChoice(props: {
  readonly label: string;
  readonly value: number | undefined;
  readonly inherited: string;
  readonly onChange: (columns: number | undefined) => void;
}): JSX.Element {
  return (
    <label>
      <span>{props.label}</span>
      <select
        class="input"
        value={props.value ?? ''}
        onChange={(event) => {
          const { value } = event.currentTarget;
          props.onChange(value === '' ? undefined : Number(value));
        }}
      >
        <option value="">{props.inherited}</option>
        {Array.from({ length: VIEW_LIMITS.columns }, (_, at) => (
          <option key={at} value={at + 1}>
            {at + 1}
          </option>
        ))}
      </select>
    </label>
  );
}
