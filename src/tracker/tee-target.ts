/** The provider `tee`, and `null`: several targets, or none. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import type {
  TrackedBins,
  TrackedEntry,
  TrackerProvider,
  TrackerStatus,
  TrackerTarget,
} from './tracker.ts';

/** Gives everything to several targets; with none it is the provider `null`. */
export class TeeTarget implements TrackerTarget {
  readonly #targets: readonly TrackerTarget[];
  readonly #providers: readonly TrackerProvider[];

  constructor(targets: readonly TrackerTarget[], providers: readonly TrackerProvider[] = []) {
    this.#targets = targets;
    this.#providers = providers;
  }

  /** The first that there is. */
  get runId(): string | null {
    return this.#targets.find(({ runId }) => runId !== null)?.runId ?? null;
  }

  get status(): TrackerStatus {
    const all = this.#targets.map(({ status }) => status);
    return {
      state: all.some(({ state }) => state === 'failing') ? 'failing' : 'working',
      error: all.find(({ error }) => error !== null)?.error ?? null,
      waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
      dropped: all.reduce((sum, { dropped }) => sum + dropped, 0),
    };
  }

  scalar(entry: TrackedEntry, value: number): void {
    for (const target of this.#targets) target.scalar(entry, value);
  }

  distribution(entry: TrackedEntry, bins: TrackedBins): void {
    for (const target of this.#targets) target.distribution(entry, bins);
  }

  text(entry: TrackedEntry, text: string): void {
    for (const target of this.#targets) target.text(entry, text);
  }

  parameters(values: JsonObject): void {
    for (const target of this.#targets) target.parameters(values);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.flush()));
  }

  async remember(step: number): Promise<JsonObject> {
    const trackers: readonly JsonValue[] = await Promise.all(
      this.#targets.map(async (target, i) => ({
        provider: this.#providers[i] ?? null,
        memory: await target.remember(step),
      })),
    );
    return trackers.length === 0 ? {} : { trackers };
  }

  async close(status: TerminalRunStatus): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.close(status)));
  }
}
