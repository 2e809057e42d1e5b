/** The page at `#/train`. The dashboard does not import it: the program that starts the app passes it. */
import type { ReadonlySignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { RunRecord, Store } from 'quark-sdk';

/** What the app asks of a page that trains in this tab. */
export type TrainPage = {
  readonly isTraining: ReadonlySignal<boolean>;
  /** Whether the page can go on with this run. */
  readonly canResume: (run: RunRecord) => boolean;
  /** Loads its code and styles when somebody goes there. */
  readonly load: () => Promise<{ readonly default: ComponentType<TrainPageProps> }>;
};

/** What the page is given. */
export type TrainPageProps = {
  /** The database of this browser. */
  readonly store: Store;
  /** The run that the address asks to go on with. */
  readonly resumeRunId: string | undefined;
};
