/** Named limits of what an importer takes from a file. Files come from anywhere; every count and length in them is bounded. */
export type ImportLimits = {
  /** Files in one import; default 100,000. */
  readonly maxFiles: number;
  /** Bytes of a file that has to be in memory whole (Arrow); default 128 MiB. Streamed formats have no such limit. */
  readonly maxDocumentBytes: number;
  /** Bytes of a file of JSON that has to be in memory whole; default 64 MiB. */
  readonly maxJsonBytes: number;
  /** Bytes of memory that such a file may become, as estimated from its brackets and commas; default 256 MiB. */
  readonly maxJsonMemoryBytes: number;
  /** Bytes of one entry or list item of JSON that is read in parts; default 4 MiB. */
  readonly maxJsonItemBytes: number;
  /** Bytes of a file of YAML; default 4 MiB. */
  readonly maxYamlBytes: number;
  /** Bytes of one line of text; default 16 MiB. */
  readonly maxLineBytes: number;
  /** Bytes of one line of a text log, which patterns are matched against; default 1 MiB. */
  readonly maxLogLineBytes: number;
  /** Times that the counters of a file may begin again, each of which makes a run; default 1,000. Later ones go on in the last run. */
  readonly maxRestarts: number;
  /** Bytes of one record of a binary format; default 64 MiB. */
  readonly maxRecordBytes: number;
  /** Bytes that one compressed block may become; default 256 MiB. */
  readonly maxExpandedBytes: number;
  /** Bytes that one packed file (gzip, ZIP, TAR) may become with all that is in it; default 4 GiB. */
  readonly maxUnpackedBytes: number;
  /** Bytes of the footer of a Parquet file, the index of a `.quark` file or the list of a ZIP archive; default 32 MiB. */
  readonly maxFooterBytes: number;
  /** Column chunks of a Parquet file (row groups times columns), and parts of a `.quark` file; default 500,000. */
  readonly maxTableChunks: number;
  /**
   * Cells of a Parquet file for each of its bytes, beyond the first million; default 256. Runs of one value take no room in a file. All of
   * its pages together become at most as many values, and eight bytes for each of them beside one page of `maxRecordBytes`.
   */
  readonly maxCellsPerByte: number;
  /** Levels of nesting; default 64. */
  readonly maxDepth: number;
  /** Columns of a table; default 10,000. */
  readonly maxColumns: number;
  /** Bins of one histogram, and numbers of one tensor; default 16,384. */
  readonly maxTensorValues: number;
  /** Histograms, texts and other artifacts of one run; default 100,000. */
  readonly maxArtifacts: number;
  /** Characters of console output that are kept of a run; default 16 M. */
  readonly maxConsoleChars: number;
  /** Metric keys of one run; default 100,000. */
  readonly maxKeys: number;
  /** Runs in one import; default 10,000. */
  readonly maxRuns: number;
  /** Characters of the configuration of a run, as JSON; default 1 M. Longer values in it are cut. */
  readonly maxConfigChars: number;
  /** Problems that are reported one by one; more are counted. Default 1,000. */
  readonly maxProblems: number;
};

/** The defaults of {@link ImportLimits}. */
export const DEFAULT_IMPORT_LIMITS: ImportLimits = Object.freeze({
  maxFiles: 100_000,
  maxDocumentBytes: 128 * 1024 * 1024,
  maxJsonBytes: 64 * 1024 * 1024,
  maxJsonMemoryBytes: 256 * 1024 * 1024,
  maxJsonItemBytes: 4 * 1024 * 1024,
  maxYamlBytes: 4 * 1024 * 1024,
  maxLineBytes: 16 * 1024 * 1024,
  maxLogLineBytes: 1024 * 1024,
  maxRestarts: 1_000,
  maxRecordBytes: 64 * 1024 * 1024,
  maxExpandedBytes: 256 * 1024 * 1024,
  maxUnpackedBytes: 4 * 1024 * 1024 * 1024,
  maxFooterBytes: 32 * 1024 * 1024,
  maxTableChunks: 500_000,
  maxCellsPerByte: 256,
  maxDepth: 64,
  maxColumns: 10_000,
  maxTensorValues: 16_384,
  maxArtifacts: 100_000,
  maxConsoleChars: 16_000_000,
  maxKeys: 100_000,
  maxRuns: 10_000,
  maxConfigChars: 1_000_000,
  maxProblems: 1_000,
});
