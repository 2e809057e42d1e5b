/** What the page is doing that takes a while: an export, an analysis, a report. The status line shows it. */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';

/** Something under way. */
export type PageTask = {
  /** What is done, in the reader's language: `Exporting 3 runs`. */
  readonly title: string;
  /** How far it is, 0 to 1; undefined where nobody knows. */
  readonly share: ReadonlySignal<number | undefined>;
  /** Ends it; undefined where it cannot be ended. */
  readonly cancel: (() => void) | undefined;
};

/** What a task uses while it runs. */
export type TaskProgress = {
  /** How far it is, 0 to 1. */
  readonly setShare: (share: number) => void;
  /** Aborted when the reader ends the task. */
  readonly signal: AbortSignal;
};

const running: Signal<readonly PageTask[]> = signal([]);

/** The tasks that are under way, in the order of their beginning. */
export const pageTasks: ReadonlySignal<readonly PageTask[]> = running;

/**
 * Runs a task and shows it in the status line for as long as it takes. Resolves and rejects as the task does.
 *
 * @param options.isEndable whether the task listens to its signal; then the status line offers to end it
 * @example await runTask(t('Exporting the table'), async ({ setShare }) => { ... });
 */
export async function runTask<T>(
  title: string,
  work: (progress: TaskProgress) => Promise<T>,
  options: { readonly isEndable?: boolean } = {},
): Promise<T> {
  const ending = new AbortController();
  const share = signal<number | undefined>(undefined);
  const task: PageTask = {
    title,
    share,
    cancel: options.isEndable === true ? () => ending.abort() : undefined,
  };
  running.value = [...running.peek(), task];
  try {
    return await work({
      setShare: (value) => {
        share.value = Math.min(1, Math.max(0, value));
      },
      signal: ending.signal,
    });
  } finally {
    running.value = running.peek().filter((other) => other !== task);
  }
}
