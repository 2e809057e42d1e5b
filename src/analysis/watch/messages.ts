/** What goes from the thread that trains to the one that judges, and back. */
import type { SegmentManifest } from '../../store/store.ts';
import type { RunInfo } from '../columns/run-columns.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import type { RuleProblem } from '../own/own-rules.ts';
import type { Finding } from '../signals/rule-types.ts';
import type { RuleMemory } from './live-rules.ts';

/** The tables that a watch reads. */
export const WATCH_TABLES = [
  'metrics',
  'layer_summaries',
  'parameter_summaries',
  'telemetry',
  'batch_diagnostics',
] as const;

/** One of {@link WATCH_TABLES}. */
export type WatchTable = (typeof WATCH_TABLES)[number];

/** Segments of one table. */
export type SegmentBatch = {
  readonly table: WatchTable;
  /** Rows before it are not new: a segment that was merged meanwhile holds old ones as well. */
  readonly sequenceMin: number;
  /** Whether rules were asked about it before, by somebody who has died since. */
  readonly isKnown: boolean;
  /** The bytes of each lie in the buffer of the load. */
  readonly segments: readonly {
    readonly manifest: SegmentManifest;
    readonly byteOffset: number;
    readonly byteLength: number;
  }[];
};

/** Batches and their bytes. */
export type Load = { readonly batches: readonly SegmentBatch[]; readonly buffer: ArrayBuffer };

/** Batches to fold and, with `question`, an evaluation of the rules. */
export type LiveRequest = {
  /** In the first request, and only there. */
  readonly start?: { readonly settings: AnalyzerSettings; readonly memory: RuleMemory | undefined };
  readonly batches: readonly SegmentBatch[];
  readonly question?: {
    /** The run; left out where it is what it was. */
    readonly run?: RunInfo;
    readonly nowMs: number;
    /** Ask the rules in any case. */
    readonly isUrgent: boolean;
  };
};

/** What came of a {@link LiveRequest}. */
export type LiveAnswer = {
  /** New rows in the batches. */
  readonly rows: number;
  readonly found: readonly { readonly ruleId: string; readonly finding: Finding }[];
  /** Whether the rules were asked. */
  readonly isEvaluated: boolean;
  readonly memory: RuleMemory;
  /** Rules of one's own that the last evaluation could not judge. */
  readonly problems: readonly RuleProblem[];
  /** What went wrong; null for nothing. */
  readonly failure: string | null;
};
