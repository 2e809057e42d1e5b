/** What an import writes to where there is nothing to write. */
import type { RunSink } from './importer.ts';

/** The sink of a run that the store has already: it discards all rows. */
export class KnownRun implements RunSink {
  readonly pendingRows = 0;
  readonly isFull = false;

  metric(): number {
    return -1;
  }
  push(): void {}
  event(): void {}
  config(): void {}
  environment(): void {}
  tags(): void {}
  status(): void {}
  async artifact(): Promise<void> {}
  async flush(): Promise<void> {}
}
