/** What the handler is told: once by its options, and with each request by its scope. */
import { checkFlag, checkOptionNames, checkPositive } from '../base/assert.ts';
import type { MergedSegment, NewSegment, Store, StoredProject, StoredRun } from '../store/store.ts';
import { ANSWER_TARGET_BYTES, MAX_BLOB_UPLOAD_BYTES, MAX_UPLOAD_BYTES } from './protocol.ts';

/** What a request is about: found out by the caller of the handler, from the key and the space that the request names. */
export type StoreScope = {
  /**
   * All that the caller may see and change. It stays the caller's to close, after the answer. A store with `isWritable`
   * false is read only, whatever the handler could do.
   */
  readonly store: Store;
  /** What to throw for a change where the store cannot be written to; an error with reason `read_only` unless given. */
  readonly writeRefusal?: Error | undefined;
  /** Told of memory that bodies and answers are about to hold; throws when the server has none left. */
  readonly takeRoom?: (bytes: number) => void;
};

/**
 * What is checked beyond what every store checks, before anything of a request is written. Each throws for what is not
 * to be kept. A service that takes records of many has to look: readers believe manifests.
 */
export type ContentChecks = {
  /** Segments on their way in, and merged ones, which have sequence numbers. */
  readonly segment?: (segment: NewSegment | MergedSegment) => void | Promise<void>;
  readonly run?: (run: Omit<StoredRun, 'revision'>) => void;
  readonly project?: (project: StoredProject) => void;
};

/** Options of {@link createStoreHandler}. */
export type StoreHandlerOptions = {
  /** Whether requests may change stores; they may not unless this is true. */
  readonly writable?: boolean;
  /** None unless given; a service takes `CONTENT_CHECKS`. */
  readonly checks?: ContentChecks;
  /** Most bytes of one upload of segments, unpacked; 66 MiB unless given. */
  readonly maxUploadBytes?: number;
  /** Most bytes of a blob; 64 MiB unless given. */
  readonly maxBlobBytes?: number;
  /** Closes an answer with segments once it holds this many bytes; 16 MiB unless given. */
  readonly answerTargetBytes?: number;
  /** Told of what the answer does not say: an error of the server's own. */
  readonly onFailure?: (error: unknown, request: Request) => void;
};

/** {@link StoreHandlerOptions} with the defaults filled in. */
export type HandlerSettings = {
  readonly writable: boolean;
  readonly checks: ContentChecks;
  readonly maxUploadBytes: number;
  readonly maxBlobBytes: number;
  readonly answerTargetBytes: number;
};

const OPTION_NAMES = [
  'writable',
  'checks',
  'maxUploadBytes',
  'maxBlobBytes',
  'answerTargetBytes',
  'onFailure',
] as const;

/** @throws {QuarkError} `invalid_input` naming the option */
export function settingsOf(options: StoreHandlerOptions): HandlerSettings {
  checkOptionNames('options', options, OPTION_NAMES);
  return {
    writable: checkFlag('writable', options.writable ?? false),
    checks: options.checks ?? {},
    maxUploadBytes: checkPositive('maxUploadBytes', options.maxUploadBytes ?? MAX_UPLOAD_BYTES),
    maxBlobBytes: checkPositive('maxBlobBytes', options.maxBlobBytes ?? MAX_BLOB_UPLOAD_BYTES),
    answerTargetBytes: checkPositive(
      'answerTargetBytes',
      options.answerTargetBytes ?? ANSWER_TARGET_BYTES,
    ),
  };
}
