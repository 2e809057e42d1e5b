/**
 * What a sink is: a destination besides the store. A mirror feeds it with what a run has stored, a tracker with what a program records.
 * Both make a batch when there is something new, one at a time, in the background.
 */
import type { JsonObject } from '../base/json.ts';
import type { TerminalRunStatus } from '../records/literals.ts';

/** The run that a sink gets records of. */
export type SinkRun = {
  readonly id: string;
  readonly project: string;
  /** How the run is called; its id where it has no name. */
  readonly name: string;
  readonly description: string | null;
  /** The configuration when the sink was opened. */
  readonly config: JsonObject;
  readonly tags: readonly string[];
  /** UTC epoch milliseconds. */
  readonly startedAtMs: number;
};

/** Samples as columns of one length, in the order in which they were recorded. They are only valid during the call. */
export type SinkScalars = {
  readonly rowCount: number;
  /** Keys of series, with their contexts: `loss {subset=val}`. */
  readonly keys: readonly string[];
  /** Index into `keys` of each sample. */
  readonly keyIndex: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  /** Step of each sample; NaN where it has none. */
  readonly steps: ArrayLike<number>;
  /** Epoch of each sample; NaN where it has none. */
  readonly epochs: ArrayLike<number>;
  /** UTC epoch milliseconds. */
  readonly timesMs: ArrayLike<number>;
};

/** A text of a run. */
export type SinkText = {
  readonly key: string;
  readonly text: string;
  readonly step: number | null;
  readonly timeMs: number;
};

/** A distribution: one more edge than there are counts. */
export type SinkDistribution = {
  readonly key: string;
  readonly bins: readonly number[];
  readonly counts: readonly number[];
  readonly step: number | null;
  readonly timeMs: number;
};

/** An image of a run. */
export type SinkImage = {
  readonly key: string;
  /** Id of its artifact. */
  readonly id: string;
  /** The bytes of the file. */
  readonly bytes: Uint8Array;
  readonly mimeType: 'image/png' | 'image/jpeg' | 'image/gif';
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly step: number | null;
  readonly timeMs: number;
};

/** A sound of a run. */
export type SinkSound = {
  readonly key: string;
  /** Id of its artifact. */
  readonly id: string;
  /** A WAV file. */
  readonly bytes: Uint8Array;
  readonly step: number | null;
  readonly timeMs: number;
};

/** What is in a batch besides samples and parameters. */
export type SinkMedia = {
  readonly texts: readonly SinkText[];
  readonly distributions: readonly SinkDistribution[];
  readonly images: readonly SinkImage[];
  readonly sounds: readonly SinkSound[];
};

/** What a sink gets at a time. */
export type SinkBatch = SinkMedia & {
  readonly run: SinkRun;
  readonly scalars: SinkScalars;
  /** Parameters that are new or were changed; null for none. */
  readonly parameters: JsonObject | null;
  /**
   * True: this very batch was given before, and it is not known whether it arrived, because the call failed or the process ended. A sink
   * that can tell leaves out what has arrived.
   */
  readonly isRepeated: boolean;
};

/** A sink that is open. */
export type OpenedSink = {
  /** What the next `open` of the same run gets. */
  readonly memory: JsonObject | null;
  /**
   * What the destination has of the run: `all` that was sent before, or `nothing`, because it is new there or was removed. A mirror begins
   * with the first record then. `unknown`: it begins with the first record, and says of each batch that it is repeated.
   */
  readonly has: 'all' | 'nothing' | 'unknown';
};

/**
 * A destination. Calls are made one after the other. What one throws is told, and the same batch comes again after a pause. What
 * `open` and `write` return is stored with the position: the next `open` of the same run gets it, in another process as well.
 */
export interface Sink {
  /** Tells the sinks of a run apart; a lowercase letter, then letters, digits, "_" and "-". */
  readonly name: string;
  /** Before the first batch. `memory` is what was returned last for this run; null at first. */
  open?(run: SinkRun, memory: JsonObject | null): Promise<OpenedSink>;
  write(batch: SinkBatch): Promise<JsonObject | null> | Promise<void>;
  /** After the last batch of a run that has ended. */
  end?(status: TerminalRunStatus, endedAtMs: number): Promise<void>;
  /** Gives back what the sink has open. */
  close?(): Promise<void>;
}

/** No samples. */
export const NO_SCALARS: SinkScalars = {
  rowCount: 0,
  keys: [],
  keyIndex: [],
  values: [],
  steps: [],
  epochs: [],
  timesMs: [],
};

/** How many records a batch has. */
export function recordsIn({ parameters, scalars, ...media }: SinkBatch): number {
  const { distributions, images, sounds, texts } = media;
  const others = texts.length + distributions.length + images.length + sounds.length;
  return scalars.rowCount + others + (parameters === null ? 0 : 1);
}
