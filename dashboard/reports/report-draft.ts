/** A report while it is written: what was read, what was changed since, and how saving went. */
import { signal, type Signal } from '@preact/signals';
import type { Store } from 'quark-sdk';
import {
  saveReport,
  type ReportBlock,
  type StoredReport,
  type WrittenReport,
} from 'quark-sdk/workspace';

/** How saving stands. */
export type SaveState =
  | { readonly kind: 'saved' | 'changed' | 'saving' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Somebody else saved it meanwhile; null: deleted it. */
  | { readonly kind: 'conflict'; readonly theirs: StoredReport | null };

/** The draft of one report. */
export class ReportDraft {
  readonly written: Signal<WrittenReport>;
  readonly state: Signal<SaveState> = signal({ kind: 'saved' });
  /** Counts changes after which another block is at a position: its fields are made anew. */
  readonly moves: Signal<number> = signal(0);
  readonly #store: Store;
  readonly #project: string;
  readonly #id: string;
  #revision: number;

  constructor(store: Store, project: string, stored: StoredReport) {
    this.#store = store;
    this.#project = project;
    this.#id = stored.id;
    this.#revision = stored.revision;
    this.written = signal(stored.report);
  }

  setTitle(title: string): void {
    this.#change({ ...this.written.peek(), title });
  }

  /** Puts a block at the end. */
  add(block: ReportBlock): void {
    this.#changeBlocks([...this.#blocks, block]);
  }

  replace(at: number, block: ReportBlock): void {
    this.#changeBlocks(this.#blocks.with(at, block));
  }

  remove(at: number): void {
    this.moves.value += 1;
    this.#changeBlocks(this.#blocks.toSpliced(at, 1));
  }

  /** Moves a block to another position. */
  move(from: number, to: number): void {
    const block = this.#blocks[from];
    if (block === undefined) return;
    this.moves.value += 1;
    this.#changeBlocks(this.#blocks.toSpliced(from, 1).toSpliced(to, 0, block));
  }

  /** Saves it if nobody else did since it was read. */
  async save(): Promise<void> {
    const written = this.written.peek();
    this.state.value = { kind: 'saving' };
    try {
      const done = await saveReport(this.#store, this.#project, written, {
        id: this.#id,
        expected: this.#revision,
      });
      if (done.kind === 'conflict') this.state.value = { kind: 'conflict', theirs: done.report };
      else {
        this.#revision = done.report.revision;
        this.state.value = { kind: this.written.peek() === written ? 'saved' : 'changed' };
      }
    } catch (error) {
      this.state.value = { kind: 'failed', error };
    }
  }

  /** Goes on with what somebody else saved; what was written here is gone. */
  take(theirs: StoredReport): void {
    this.#revision = theirs.revision;
    this.moves.value += 1;
    this.written.value = theirs.report;
    this.state.value = { kind: 'saved' };
  }

  /** Saves over what somebody else did. */
  async overwrite(theirs: StoredReport | null): Promise<void> {
    this.#revision = theirs?.revision ?? 0;
    await this.save();
  }

  get #blocks(): readonly ReportBlock[] {
    return this.written.peek().blocks;
  }

  #changeBlocks(blocks: readonly ReportBlock[]): void {
    this.#change({ ...this.written.peek(), blocks });
  }

  #change(written: WrittenReport): void {
    this.written.value = written;
    if (this.state.peek().kind !== 'conflict') this.state.value = { kind: 'changed' };
  }
}
