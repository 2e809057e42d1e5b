/** The artifacts of a run, read as it goes on, as a list of names with their versions. */
import type { JsonValue } from 'quark-sdk';
import { readArtifacts, type ArtifactSource } from 'quark-sdk/probes';
import { getOrMake } from '../../parts/maps.ts';
import type { StoredArtifact } from '../media-feed.ts';

/** Artifacts of one type and name. */
export type ArtifactGroup = {
  readonly type: string;
  readonly key: string;
  /** In the order in which they were stored. */
  readonly versions: readonly StoredArtifact[];
};

/** Reads the artifacts of a run. */
export class ArtifactFeed {
  readonly #source: ArtifactSource;
  readonly #records: StoredArtifact[] = [];
  #nextSequence = 0;
  /** Segments that could not be read. */
  damagedCount = 0;

  constructor(source: ArtifactSource) {
    this.#source = source;
  }

  /** By type, then by name. */
  get groups(): readonly ArtifactGroup[] {
    const groups = new Map<string, { type: string; key: string; versions: StoredArtifact[] }>();
    for (const record of this.#records) {
      const { artifactKey: key, artifactType: type } = record;
      getOrMake(groups, `${type} ${key}`, () => ({ type, key, versions: [] })).versions.push(
        record,
      );
    }
    return [...groups.values()].toSorted(
      (a, b) => compareTexts(a.type, b.type) || compareTexts(a.key, b.key),
    );
  }

  /** Reads what has come since; true when something has. */
  async poll(): Promise<boolean> {
    const { damage, records } = await readArtifacts(this.#source, {
      sequenceMin: this.#nextSequence,
    });
    for (const record of records) {
      this.#records.push(record);
      this.#nextSequence = Math.max(this.#nextSequence, (record.sequence ?? -1) + 1);
    }
    const hasNews = records.length > 0 || damage.length !== this.damagedCount;
    this.damagedCount = damage.length;
    return hasNews;
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const ENDINGS: Readonly<Record<string, string>> = { json: '.json', text: '.txt', bytes: '.bin' };
const TYPE_ENDINGS: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
};

const MAX_NAME_CHARS = 120;

/** The name under which a browser saves an artifact: of its letters, digits and points, "_" for all others. */
export function savedNameOf(record: StoredArtifact): string {
  return rawName(record)
    .replaceAll(/[^\p{L}\p{N}._ -]+/gu, '_')
    .slice(-MAX_NAME_CHARS);
}

function rawName(record: StoredArtifact): string {
  const { artifactKey, artifactType, metadata, payloadFormat } = record;
  const path = textIn(metadata, 'path');
  if (path !== undefined) return path.split(/[\\/]/).at(-1) ?? path;
  const base = artifactKey.replaceAll('/', '_');
  if (artifactType === 'audio') return `${base}.wav`;
  if (artifactType === 'model')
    return `${base}${textIn(metadata, 'format') === 'onnx' ? '.onnx' : '.zip'}`;
  const isNamed = /\.\w{1,8}$/.test(base);
  const ofType = TYPE_ENDINGS[textIn(metadata, 'mime_type') ?? ''];
  return isNamed ? base : `${base}${ofType ?? ENDINGS[payloadFormat] ?? ''}`;
}

function textIn(
  metadata: { readonly [name: string]: JsonValue } | null,
  name: string,
): string | undefined {
  const value = metadata?.[name];
  return typeof value === 'string' ? value : undefined;
}
