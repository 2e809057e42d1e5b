/** What a thread that merges is told, and what it answers. */
import type { MergedSegment, SegmentManifest } from '../store/store.ts';
import type { TakenSegments } from './row-merge.ts';

/** The bytes of a segment as a range of those of a message, or what is wrong with them. */
export type SentBytes =
  | { readonly start: number; readonly end: number }
  | { readonly damage: string };

/** A call for one merge, which begins with its first. */
export type ToMerger = { readonly id: number } & (
  | {
      readonly kind: 'add';
      readonly name: {
        readonly table: string;
        readonly runId: string;
        readonly mergeId: string;
      };
      readonly manifests: readonly SegmentManifest[];
      readonly reads: readonly SentBytes[];
      readonly bytes: Uint8Array<ArrayBuffer>;
    }
  | { readonly kind: 'finish' }
  | { readonly kind: 'end' }
);

/** The answer to the last call for a merge. */
export type FromMerger = { readonly id: number } & (
  | { readonly kind: 'taken'; readonly value: TakenSegments }
  | { readonly kind: 'merged'; readonly value: readonly MergedSegment[] }
  | { readonly kind: 'failed'; readonly reason: string }
);
