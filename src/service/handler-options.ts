/** What the handler is told: once by its options, and with each request by its scope. */
import { checkFlag, checkOptionNames, checkPositive } from '../base/assert.ts';
import type { NewSegment, Store } from '../store/store.ts';
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

/** What is checked of a segment beyond what every store checks. Throws for one that is not to be kept. */
export type SegmentCheck = (segment: NewSegment) => void | Promise<void>;

/** Options of {@link createStoreHandler}. */
export type StoreHandlerOptions = {
  /** Whether requests may change stores; they may not unless this is true. */
  readonly writable?: boolean;
  /** Looks at each segment before anything of its request is written; stores do not look inside. */
  readonly checkSegment?: SegmentCheck;
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
  readonly checkSegment: SegmentCheck;
  readonly maxUploadBytes: number;
  readonly maxBlobBytes: number;
  readonly answerTargetBytes: number;
};

const OPTION_NAMES = [
  'writable',
  'checkSegment',
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
    checkSegment: options.checkSegment ?? (() => undefined),
    maxUploadBytes: checkPositive('maxUploadBytes', options.maxUploadBytes ?? MAX_UPLOAD_BYTES),
    maxBlobBytes: checkPositive('maxBlobBytes', options.maxBlobBytes ?? MAX_BLOB_UPLOAD_BYTES),
    answerTargetBytes: checkPositive(
      'answerTargetBytes',
      options.answerTargetBytes ?? ANSWER_TARGET_BYTES,
    ),
  };
}
