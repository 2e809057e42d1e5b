/** Trains a network in this tab and shows what is recorded of it. */
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';

export function TrainPage(_props: {
  readonly store: Store;
  readonly resumeRunId: string | undefined;
}): JSX.Element {
  return <div class="page" />;
}
