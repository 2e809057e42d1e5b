/** What the page and the worker that imports say to each other. */
import type { Store } from 'quark-sdk';
import type { ServerAccess } from '../sources/server-access.ts';
import type { PageSeriesQuery } from '../series/series-reader.ts';
import type {
  ImportedRunReport,
  ImportProblem,
  ImportProgress,
  UnknownFile,
} from 'quark-sdk/exchange';
import type { MediaItem } from 'quark-sdk/media';
import type { SparklineQuery } from 'quark-sdk/workspace';

/** A file on its way into an import. */
export type DroppedFile = { readonly file: File; readonly path: string };

/** Methods of the store in the worker that the page may call. */
export const STORE_READS = [
  'listProjects',
  'findRun',
  'listRuns',
  'listLeases',
  'askRuns',
  'listSegments',
  'readSegments',
  'getBlob',
] as const satisfies readonly (keyof Store)[];

/** One of {@link STORE_READS}. */
export type StoreRead = (typeof STORE_READS)[number];

/** A call of the store in the worker. */
export type StoreCall = { readonly name: StoreRead; readonly args: readonly unknown[] };

/** What the page asks for. Every request gets one {@link Reply}. */
export type Request =
  | { readonly kind: 'store'; readonly call: StoreCall }
  /** Metrics of a run. Answered with a `PageSeriesRead`. */
  | { readonly kind: 'series'; readonly query: PageSeriesQuery }
  /** Small curves of runs. Answered with a list of `RunSparkline`. */
  | { readonly kind: 'sparklines'; readonly query: SparklineQuery }
  /** The same of the store at `uri`, about so many rows at a time. */
  | (RunAddress & {
      readonly kind: 'samples';
      readonly query: PageSeriesQuery;
      readonly rows: number;
    })
  /** Something about a run of the store in the worker, or of the one at `uri`. */
  | RunRequest
  /** More files of the import that is put together; a folder is too large for one message. */
  | { readonly kind: 'files'; readonly files: readonly DroppedFile[] }
  /** Imports the files that were sent since the import before. Answered with a {@link DroppedReport}. */
  | { readonly kind: 'import' }
  /** Ends the import under way. */
  | { readonly kind: 'cancel' }
  /** Imports everything that was dropped once more, into another store. Answered with a {@link DroppedReport}. */
  | { readonly kind: 'keep'; readonly uri: string };

/** Where a run is that is asked about. */
export type RunAddress = {
  /** Undefined: in the store of the worker. */
  readonly uri: string | undefined;
  /** What the store is opened with. */
  readonly access: ServerAccess;
  readonly runId: string;
};

/** What is asked about a run. */
export type RunQuestion =
  /** Answered with a `RunAnalysis`. `config` is the content of a `quark.config.json`, unchecked. */
  | { readonly kind: 'analyze'; readonly config: unknown }
  /** The alerts and phases that an analysis stored. Answered with `RunFindings`. */
  | { readonly kind: 'findings' }
  /** What hard batches have in common. Answered with `BatchFindings`. */
  | { readonly kind: 'batches' }
  /** The report of the run, judged with `config`. Answered with a `RunReport`. */
  | { readonly kind: 'report'; readonly config: unknown }
  /** The last lines that the program printed, so many, and of this instant or later. Answered with a `ConsoleAnswer`. */
  | { readonly kind: 'console'; readonly limit: number; readonly fromMs: number }
  /** Some rows of a table. Answered with a `TablePart`. */
  | {
      readonly kind: 'table';
      readonly record: MediaRecord;
      readonly from: number;
      readonly count: number;
    }
  /** Sound, decoded. Answered with the content of the medium. */
  | { readonly kind: 'sound'; readonly record: MediaRecord };

/** The record of a medium. */
export type MediaRecord = MediaItem['record'];

/** A question about a run, and where it is. */
export type RunRequest = RunAddress & RunQuestion;

/** A request with its number. */
export type NumberedRequest = { readonly id: number; readonly request: Request };

/** What comes back. */
export type Reply =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: MessageError }
  | { readonly kind: 'progress'; readonly id: number; readonly progress: ImportProgress }
  /** A run has begun to be there. */
  | { readonly kind: 'run'; readonly id: number; readonly runId: string };

/** An error, taken apart: what `postMessage` makes of one has no code. */
export type MessageError = {
  readonly message: string;
  readonly code: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
};

/** What an import did, as far as the page shows it. */
export type DroppedReport = {
  readonly runs: readonly Pick<ImportedRunReport, 'runId' | 'format' | 'rowCount' | 'isComplete'>[];
  readonly problems: readonly ImportProblem[];
  readonly unlistedProblemCount: number;
  readonly unknownFiles: readonly string[];
  readonly unknown: readonly UnknownFile[];
};
