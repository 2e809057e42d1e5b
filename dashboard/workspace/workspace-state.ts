/** The view of a project that somebody works with: what is saved, what is changed, and what is remembered in this browser. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Store } from 'quark-sdk';
import {
  DEFAULT_CHART_CHOICES,
  deleteView,
  listViews,
  readView,
  saveView,
  setDefaultView,
  viewFromJson,
  viewToJson,
  type ChartChoices,
  type ChartsView,
  type SavedView,
  type SaveViewOptions,
  type SavedViewHeader,
} from 'quark-sdk/workspace';
import type { ChartView } from '../charts/chart-view.ts';
import { storedText } from '../parts/browser-storage.ts';
import { errorText } from '../parts/notices.tsx';
import { t } from '../parts/t.ts';
import { EMPTY_VIEW } from './layout.ts';

/** A longer layout is not remembered in this browser: it has a few megabytes for all of the page. */
const MAX_REMEMBERED_CHARS = 300_000;

/** Changes of the layout that can be taken back. */
const MOST_PAST = 50;

/** The page that a workspace is on: what it begins with, and under which name this browser remembers what is not saved. */
export type WorkspaceKind = { readonly id: string; readonly empty: ChartsView };

const OF_RUNS: WorkspaceKind = { id: 'layout', empty: EMPTY_VIEW };

/** What a workspace is made of. */
export type WorkspaceParts = {
  readonly store: Store;
  readonly project: string;
  readonly charts: ChartView;
  /** Unless given, that of the page of a run. */
  readonly kind?: WorkspaceKind;
};

/** See the top of this file. */
export class WorkspaceState {
  readonly project: string;
  readonly charts: ChartView;
  /** What is shown: as saved, or changed since. */
  readonly view: Signal<ChartsView>;
  /** The saved view that it began from; undefined: what comes by itself. */
  readonly saved: Signal<SavedView | undefined> = signal(undefined);
  readonly views: Signal<readonly SavedViewHeader[]> = signal([]);
  /** Name of the saved view, for the address; '' for none. */
  readonly name: Signal<string> = signal('');
  /** Why the last change of saved views failed. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  /** Whether saved views have been looked for. */
  readonly isRead: Signal<boolean> = signal(false);
  /** Whether what is shown differs from what is saved. */
  readonly isChanged: ReadonlySignal<boolean>;
  /** What the workspace says of charts: in the toolbar, and in the view what the toolbar has no control for. */
  readonly choices: ReadonlySignal<ChartChoices>;
  /** What was shown before each of the last changes, the latest last. */
  readonly past: Signal<readonly ChartsView[]> = signal([]);
  /** The name that was opened or given last: another one comes from the address. */
  #named = '';
  readonly #store: Store;
  readonly #stored: ReturnType<typeof storedText>;
  readonly #empty: ChartsView;

  constructor({ store, project, charts, kind = OF_RUNS }: WorkspaceParts) {
    this.#empty = kind.empty;
    this.view = signal(kind.empty);
    this.#store = store;
    this.project = project;
    this.charts = charts;
    this.#stored = storedText(`quark.${kind.id}.${project}`);
    this.isChanged = computed(() => {
      const { value: saved } = this.saved;
      if (saved === undefined) return contentOf(this.view.value) !== contentOf(kind.empty);
      return contentOf(this.current()) !== contentOf(saidOf(saved.view));
    });
    this.choices = computed(() => {
      const { hiddenMarks, yMax, yMin } = this.view.value;
      return {
        ...(hiddenMarks === undefined ? {} : { hiddenMarks }),
        ...(yMax === undefined ? {} : { yMax }),
        ...(yMin === undefined ? {} : { yMin }),
        ...choicesOf(charts),
      };
    });
  }

  /** What would be saved: the view, and what is chosen in the toolbar. */
  current(): ChartsView {
    return { ...withoutToolbar(this.view.value), ...choicesOf(this.charts) };
  }

  /** Opens the view of this name, else what was left unsaved, else the default of the project. */
  async open(name: string): Promise<void> {
    this.#named = name;
    const left = this.#remembered();
    if (left !== undefined && (name === '' || left.name === name)) this.view.value = left.view;
    await this.#attempt(async () => {
      this.views.value = await listViews(this.#store, this.project);
      const wanted =
        name !== '' || left !== undefined
          ? (left?.name ?? name)
          : this.views.value.find((one) => one.isDefault)?.name;
      if (wanted === undefined || wanted === '') return;
      const found = await readView(this.#store, this.project, name === '' ? wanted : name);
      if (found === undefined) {
        this.problem.value = noView(wanted);
        return;
      }
      if (left?.name === found.name) {
        this.saved.value = found;
        this.#call(found.name);
      } else this.#show(found);
    });
    this.isRead.value = true;
  }

  /** Changes what is shown. */
  edit(change: (view: ChartsView) => ChartsView): void {
    const before = this.view.peek();
    const after = change(before);
    if (after === before) return;
    this.past.value = [...this.past.peek(), before].slice(-MOST_PAST);
    this.view.value = after;
  }

  /** Takes the last change back. */
  undo(): void {
    const before = this.past.peek().at(-1);
    if (before === undefined) return;
    this.past.value = this.past.peek().slice(0, -1);
    this.view.value = before;
  }

  /** Shows the view that the address names by now. */
  followName(): void {
    const { value: name } = this.name;
    if (!this.isRead.value || name === this.#named) return;
    void this.choose(name);
  }

  async choose(name: string): Promise<void> {
    this.#named = name;
    await this.#attempt(async () => {
      if (name === '') {
        this.saved.value = undefined;
        this.#call('');
        this.past.value = [];
        this.view.value = this.#empty;
        return;
      }
      const found = await readView(this.#store, this.project, name);
      if (found === undefined) this.problem.value = noView(name);
      else this.#show(found);
      this.views.value = await listViews(this.#store, this.project);
    });
  }

  /** Saves what is shown as the view that it began from. */
  async update(): Promise<void> {
    const { value: saved } = this.saved;
    if (saved === undefined) return;
    await this.#save(saved.name, { id: saved.id, expected: saved.revision });
  }

  /** Saves what is shown under a name that no view of the project has; on a service, perhaps for its user alone. */
  async saveAs(name: string, isPrivate = false): Promise<void> {
    await this.#save(name, { expected: 0, visibility: isPrivate ? 'private' : 'project' });
  }

  async rename(name: string): Promise<void> {
    const { value: saved } = this.saved;
    if (saved === undefined) return;
    await this.#save(name, { id: saved.id, expected: saved.revision });
  }

  async remove(): Promise<void> {
    const { value: saved } = this.saved;
    if (saved === undefined) return;
    await this.#attempt(async () => {
      await deleteView(this.#store, this.project, saved.id);
      // What is shown stays, as something that is not saved: nothing is lost by a wrong click.
      this.saved.value = undefined;
      this.#call('');
      this.views.value = await listViews(this.#store, this.project);
    });
  }

  async makeDefault(isDefault: boolean): Promise<void> {
    const { value: saved } = this.saved;
    if (saved === undefined) return;
    await this.#attempt(async () => {
      await setDefaultView(this.#store, this.project, isDefault ? saved.id : null);
      this.saved.value = { ...saved, isDefault };
      this.views.value = await listViews(this.#store, this.project);
    });
  }

  /** Back to what is saved, or to what comes by itself. */
  reset(): void {
    const { value: saved } = this.saved;
    if (saved === undefined) this.edit(() => this.#empty);
    else this.#show(saved);
  }

  /** What is shown as the text of a file. */
  exported(): string {
    return viewToJson(this.current());
  }

  /** Shows the view of a file; it is saved when somebody saves it. */
  imported(text: string): void {
    this.problem.value = undefined;
    try {
      const view = viewFromJson(text);
      applyChoices(this.charts, view);
      this.view.value = view;
    } catch (error) {
      this.problem.value = errorText(error);
    }
  }

  /** Stores what is not saved for the next visit of this browser. */
  remember(): void {
    if (!this.isRead.value) return;
    if (!this.isChanged.value) {
      this.#stored.set(undefined);
      return;
    }
    const text = JSON.stringify({ name: this.name.value, view: viewToJson(this.view.value) });
    this.#stored.set(text.length > MAX_REMEMBERED_CHARS ? undefined : text);
  }

  #remembered(): { readonly name: string; readonly view: ChartsView } | undefined {
    try {
      const found: unknown = JSON.parse(this.#stored.get() ?? 'null');
      if (typeof found !== 'object' || found === null) return undefined;
      const name: unknown = Reflect.get(found, 'name');
      const view: unknown = Reflect.get(found, 'view');
      if (typeof name !== 'string' || typeof view !== 'string') return undefined;
      return { name, view: viewFromJson(view) };
    } catch {
      return undefined;
    }
  }

  async #save(name: string, options: SaveViewOptions): Promise<void> {
    await this.#attempt(async () => {
      const view = { ...this.current(), name: name.trim(), project: this.project };
      const saved = await saveView(this.#store, view, options);
      this.saved.value = saved;
      this.#call(saved.name);
      this.views.value = await listViews(this.#store, this.project);
    });
  }

  #show(saved: SavedView): void {
    applyChoices(this.charts, saved.view);
    this.saved.value = saved;
    this.#call(saved.name);
    this.past.value = [];
    this.view.value = saved.view;
  }

  #call(name: string): void {
    this.#named = name;
    this.name.value = name;
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    this.problem.value = undefined;
    try {
      await work();
    } catch (error) {
      this.problem.value = errorText(error);
    }
  }
}

function noView(name: string): string {
  return t('There is no view “{name}”.', { name });
}

function contentOf({ name: _name, ...content }: ChartsView): string {
  return JSON.stringify(Object.entries(content).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What of a view no control of the toolbar says. */
function withoutToolbar(view: ChartsView): ChartsView {
  const {
    axis: _axis,
    isLinked: _isLinked,
    logX: _logX,
    logY: _logY,
    skipsOutliers: _skipsOutliers,
    smoothing: _smoothing,
    smoothingAmount: _smoothingAmount,
    ...rest
  } = view;
  return rest;
}

/** The view without choices of the toolbar that hold anyway. */
function saidOf(view: ChartsView): ChartsView {
  const known = new Map<string, unknown>(Object.entries(DEFAULT_CHART_CHOICES));
  const { sections, name, ...rest } = view;
  const said = Object.entries(rest).filter(([field, value]) => known.get(field) !== value);
  return { ...Object.fromEntries(said), sections, name };
}

/** What is chosen in the toolbar, without what holds anyway. */
function choicesOf(charts: ChartView): ChartChoices {
  const all: Required<ChartChoices> = {
    ...DEFAULT_CHART_CHOICES,
    axis: charts.chosenAxis.value,
    logX: charts.isLogX.value,
    logY: charts.isLog.value,
    smoothing: charts.smoothingKind.value,
    smoothingAmount: charts.smoothing.value,
    skipsOutliers: charts.skipsOutliers.value,
    isLinked: charts.isLinked.value,
  };
  const known = new Map<string, unknown>(Object.entries(DEFAULT_CHART_CHOICES));
  return Object.fromEntries(
    Object.entries(all).filter(([name, value]) => known.get(name) !== value),
  );
}

function applyChoices(charts: ChartView, view: ChartChoices): void {
  const all = { ...DEFAULT_CHART_CHOICES, ...view };
  if (view.axis !== undefined) {
    charts.chosenAxis.value = view.axis;
    charts.axis.value = view.axis;
    charts.insists.value = true;
  }
  charts.isLogX.value = all.logX;
  charts.isLog.value = all.logY;
  charts.smoothingKind.value = all.smoothing;
  charts.smoothing.value = all.smoothingAmount;
  charts.skipsOutliers.value = all.skipsOutliers;
  charts.isLinked.value = all.isLinked;
}
