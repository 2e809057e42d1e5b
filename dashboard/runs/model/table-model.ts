/** The table of one request: rows of a filter in an order, all in one section or grouped by the values of a column. */
import type { FoundGroup, FoundRun } from 'quark-sdk/workspace';
import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { errorText } from '../../parts/notices.tsx';
import { getOrMake } from '../../parts/maps.ts';
import type { FacetValue } from './facet-text.ts';
import type { OrderKey } from './list-order.ts';
import { RowPages } from './row-pages.ts';
import { SectionList, type SectionLine } from './sections.ts';
import type { TableData, TableScope } from './table-source.ts';

/** What the table shows. */
export type TableRequest = {
  readonly scope: TableScope;
  readonly order: readonly OrderKey[];
  /** Paths of the values of rows. */
  readonly columns: readonly string[];
  /** The path by whose values runs are grouped; empty for none. */
  readonly groupPath: string;
  /** Paths of numbers of which groups have the mean. */
  readonly numbers: readonly string[];
};

/** What stands in a line of the table. */
export type TableLine =
  | { readonly kind: 'head'; readonly group: FoundGroup; readonly isOpen: boolean }
  | { readonly kind: 'row'; readonly row: FoundRun | undefined };

/** How often groups are counted again, in rounds of reading. */
const GROUPS_EVERY = 5;

/** See the top of this file. */
export class TableModel {
  readonly request: TableRequest;
  readonly #data: TableData;
  readonly #all: RowPages<FoundRun>;
  readonly #ofGroup = new Map<string, RowPages<FoundRun>>();
  readonly #open = signal<ReadonlySet<string>>(new Set());
  readonly #groups = signal<readonly FoundGroup[] | undefined>(undefined);
  readonly #groupCount = signal(0);
  readonly #failure = signal<string | undefined>(undefined);
  #round = 0;

  /** Sections with their rows: one without groups. */
  readonly sections: ReadonlySignal<SectionList>;

  constructor(data: TableData, request: TableRequest) {
    this.#data = data;
    this.request = request;
    this.#all = this.#pagesOf(request.scope);
    this.sections = computed(() => {
      const groups = this.#groups.value;
      if (request.groupPath === '')
        return new SectionList([{ hasHead: false, rows: this.#all.total.value ?? 0 }]);
      return new SectionList(
        (groups ?? []).map((group) => ({
          hasHead: true,
          rows: this.#open.value.has(keyOf(groupValue(group)))
            ? (this.#ofGroup.get(keyOf(groupValue(group)))?.total.value ?? 0)
            : 0,
        })),
      );
    });
  }

  get isGrouped(): boolean {
    return this.request.groupPath !== '';
  }

  /** Whether there is something to show. */
  get isRead(): boolean {
    return this.isGrouped ? this.#groups.value !== undefined : this.#all.total.value !== undefined;
  }

  /** How many runs the filter finds; undefined before the first answer. */
  get runCount(): number | undefined {
    return this.#all.total.value;
  }

  /** How many groups there are, and how many of them are shown. */
  get groupCounts(): { readonly all: number; readonly shown: number } {
    return { all: this.#groupCount.value, shown: this.#groups.value?.length ?? 0 };
  }

  /** Whether runs came, went or changed their order, which is not shown yet. */
  get isWaiting(): boolean {
    return this.#all.isWaiting.value;
  }

  /** Why rows could not be read when they were scrolled to. */
  get failure(): string | undefined {
    return this.#failure.value ?? this.#all.failure.value;
  }

  /** What stands in a line; undefined beyond the last one. */
  at(index: number): TableLine | undefined {
    const found = this.sections.value.lineAt(index);
    if (found === undefined) return undefined;
    const group = this.#groups.value?.[found.section];
    if (found.row === 'head')
      return group === undefined
        ? undefined
        : { kind: 'head', group, isOpen: this.#open.value.has(keyOf(groupValue(group))) };
    const pages = this.#pagesIn(found);
    void pages.version.value;
    return { kind: 'row', row: pages.row(found.row) };
  }

  /** The line of a run among those that were read. */
  lineOf(runId: string): number | undefined {
    const { sections } = this;
    const count = this.isGrouped ? (this.#groups.peek()?.length ?? 0) : 1;
    for (let section = 0; section < count; section += 1) {
      if (sections.peek().rowsIn(section, 0, Number.MAX_SAFE_INTEGER) === undefined) continue;
      const row = this.#pagesIn({ section }).indexOf(runId);
      if (row !== undefined) return sections.peek().indexOf({ section, row });
    }
    return undefined;
  }

  /** Reads the rows of these lines that are missing. */
  want(first: number, end: number): void {
    this.#eachPages(first, end, (pages, from, to) => pages.want(from, to));
  }

  /** The runs of these lines, read where they are missing. @throws what reading throws */
  async runsIn(first: number, end: number): Promise<readonly FoundRun[]> {
    const reading: Promise<readonly FoundRun[]>[] = [];
    this.#eachPages(first, end, (pages, from, to) => reading.push(pages.range(from, to)));
    return (await Promise.all(reading)).flat();
  }

  /** Reads these lines again. @throws what reading throws */
  async refresh(first: number, end: number, isHeld: boolean): Promise<void> {
    this.#failure.value = undefined;
    if (!this.isGrouped) {
      await this.#all.refresh(first, end, isHeld);
      return;
    }
    const isDue =
      this.#groups.peek() === undefined || (!isHeld && this.#round % GROUPS_EVERY === 0);
    this.#round += 1;
    const reading: Promise<void>[] = [];
    this.#eachPages(first, end, (pages, from, to) => reading.push(pages.refresh(from, to, isHeld)));
    await Promise.all([...reading, ...(isDue ? [this.#readGroups()] : [])]);
  }

  /** Opens or folds a group. */
  toggle(group: FoundGroup): void {
    const value = groupValue(group);
    const key = keyOf(value);
    const open = new Set(this.#open.peek());
    if (!open.delete(key)) {
      open.add(key);
      const { scope, groupPath } = this.request;
      const pages = getOrMake(this.#ofGroup, key, () =>
        this.#pagesOf({ ...scope, within: { path: groupPath, value } }),
      );
      pages.refresh(0, 1, false).catch((error: unknown) => {
        this.#failure.value = errorText(error);
      });
    }
    this.#open.value = open;
  }

  /** Opens all groups, or folds them. */
  toggleAll(): void {
    const isAnyOpen = this.#open.peek().size > 0;
    for (const group of this.#groups.peek() ?? [])
      if (this.#open.peek().has(keyOf(groupValue(group))) === isAnyOpen) this.toggle(group);
  }

  /** Changes a row before the store has answered. */
  patch(runId: string, change: (row: FoundRun) => FoundRun): void {
    for (const pages of [this.#all, ...this.#ofGroup.values()]) pages.patch(runId, change);
  }

  async #readGroups(): Promise<void> {
    const { scope, groupPath, numbers } = this.request;
    const [read] = await Promise.all([
      this.#data.groups(scope, groupPath, numbers),
      this.#all.refresh(0, 1, false),
    ]);
    this.#groups.value = read.groups;
    this.#groupCount.value = read.total;
  }

  #pagesOf(scope: TableScope): RowPages<FoundRun> {
    const { order, columns } = this.request;
    return new RowPages((offset, limit) => this.#data.rows(scope, order, columns, offset, limit));
  }

  #pagesIn({ section }: Pick<SectionLine, 'section'>): RowPages<FoundRun> {
    const group = this.#groups.peek()?.[section];
    const pages = group === undefined ? undefined : this.#ofGroup.get(keyOf(groupValue(group)));
    return this.isGrouped ? (pages ?? this.#all) : this.#all;
  }

  /** The rows of each section among these lines. */
  #eachPages(
    first: number,
    end: number,
    visit: (pages: RowPages<FoundRun>, from: number, to: number) => void,
  ): void {
    const sections = this.sections.peek();
    const from = sections.lineAt(first)?.section ?? 0;
    const to = sections.lineAt(Math.min(end, sections.total) - 1)?.section ?? from;
    for (let section = from; section <= to; section += 1) {
      const rows = sections.rowsIn(section, first, end);
      if (rows !== undefined) visit(this.#pagesIn({ section }), rows[0], rows[1]);
    }
  }
}

/** The value that all runs of a group have; null for runs without one. */
export function groupValue({ by }: FoundGroup): FacetValue {
  return by[0] ?? null;
}

function keyOf(value: FacetValue): string {
  return JSON.stringify(value);
}
