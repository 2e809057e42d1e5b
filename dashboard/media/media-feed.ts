/** The media of runs, read as the runs go on: what is known of each without its content. */
import type { Store } from 'quark-sdk';
import { readMedia, MEDIA_KINDS, type MediaItem } from 'quark-sdk/media';
import { readArtifacts } from 'quark-sdk/probes';
import { positionOf } from './media-steps.ts';

/** An artifact record, as readers give it. */
export type StoredArtifact = MediaItem['record'];

/** What is shown of runs, by kind: the kinds of media, models, and histograms that were logged as artifacts. */
export const GALLERY_KINDS = [...MEDIA_KINDS, 'model', 'histogram'] as const;
/** One of {@link GALLERY_KINDS}. */
export type GalleryKind = (typeof GALLERY_KINDS)[number];

/** A model or a histogram among the media. */
export type OtherItem = {
  readonly [K in 'model' | 'histogram']: {
    readonly kind: K;
    readonly key: string;
    readonly step: number | null;
    readonly epoch: number | null;
    readonly sizeBytes: number;
    readonly record: StoredArtifact;
  };
}['model' | 'histogram'];

/** One thing to show. */
export type GalleryItem = MediaItem | OtherItem;

/** One run whose media are shown. */
export type MediaTarget = {
  readonly runId: string;
  /** What it is called beside the others. */
  readonly name: string;
  /** Colour of its curves; the accent unless given. */
  readonly color?: string;
};

/** Where the media of a run are stored. */
export type MediaSource = { readonly store: Store; readonly runId: string };

/** A run with the media that are known of it. */
export type MediaRun = MediaTarget & {
  readonly source: MediaSource;
  /** By key, then by position. */
  readonly items: readonly GalleryItem[];
  readonly problems: readonly string[];
};

type Reading = { items: GalleryItem[]; problems: Set<string>; nextSequence: number };

/** Reads the media of several runs. */
export class MediaFeed {
  readonly #store: Store;
  readonly #targets: readonly MediaTarget[];
  readonly #readings = new Map<string, Reading>();

  constructor(store: Store, targets: readonly MediaTarget[]) {
    this.#store = store;
    this.#targets = targets;
  }

  /** The runs with what has been read of them. */
  get runs(): readonly MediaRun[] {
    return this.#targets.map((target) => {
      const { items = [], problems = [] } = this.#readings.get(target.runId) ?? {};
      const source = { store: this.#store, runId: target.runId };
      return { ...target, source, items, problems: [...problems] };
    });
  }

  /** Reads what has come since; true when something has. */
  async poll(): Promise<boolean> {
    const news = await Promise.all(this.#targets.map(({ runId }) => this.#read(runId)));
    return news.includes(true);
  }

  async #read(runId: string): Promise<boolean> {
    const known = this.#readings.get(runId) ?? {
      items: [],
      problems: new Set<string>(),
      nextSequence: 0,
    };
    this.#readings.set(runId, known);
    const source = { store: this.#store, runId };
    const filter = { sequenceMin: known.nextSequence };
    const [media, others] = await Promise.all([
      readMedia(source, filter),
      readArtifacts(source, { ...filter, artifactTypes: ['model', 'histogram'] }),
    ]);
    const came: GalleryItem[] = [...media.items, ...others.records.flatMap(otherItem)];
    const problemCount = known.problems.size;
    for (const problem of media.problems) known.problems.add(problem);
    if (came.length === 0) return known.problems.size > problemCount;
    known.items = [...known.items, ...came].toSorted(byKeyAndPosition);
    for (const { record } of came)
      known.nextSequence = Math.max(known.nextSequence, (record.sequence ?? -1) + 1);
    return true;
  }
}

function otherItem(record: StoredArtifact): readonly OtherItem[] {
  const { artifactKey: key, artifactType: kind, epoch, sizeBytes, step } = record;
  if (kind !== 'model' && kind !== 'histogram') return [];
  return [{ kind, key, step, epoch, sizeBytes, record }];
}

function byKeyAndPosition(a: GalleryItem, b: GalleryItem): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return positionOf(a) - positionOf(b);
}

/** Items of one kind. */
export function mediaOf<K extends GalleryKind>(
  run: MediaRun,
  kind: K,
): readonly Extract<GalleryItem, { readonly kind: K }>[] {
  const isOfKind = (item: GalleryItem): item is Extract<GalleryItem, { readonly kind: K }> =>
    item.kind === kind;
  return run.items.filter(isOfKind);
}
