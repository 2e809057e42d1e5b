/** What an artifact is, in a few words, and what its content is, for a person at a terminal. */
import { withControlsShown } from '../../base/texts/control-characters.ts';
import type { ArtifactRecord, JsonObject, JsonValue } from '../../index.ts';
import { onTerminal, shortNumber } from './text.ts';

/** What the metadata of an artifact say of it; empty for those that programs store as they like. */
export function artifactDetail({ artifactType, metadata }: ArtifactRecord): string {
  if (metadata === null || typeof metadata['format_version'] !== 'number')
    return artifactType === 'console' && metadata !== null
      ? `${text(metadata, 'line_count')} lines`
      : '';
  return DETAILS[artifactType]?.((name) => text(metadata, name)) ?? '';
}

type Detail = (of: (name: string) => string) => string;

const DETAILS: Readonly<Record<string, Detail>> = {
  image: (of) => `${of('width')} x ${of('height')} ${of('mime_type')}`,
  audio: (of) =>
    `${of('channel_count')} channels, ${of('frame_count')} frames at ${of('sample_rate')} Hz`,
  text: (of) => `${of('char_count')} characters, ${of('format')}`,
  table: (of) => `${of('row_count')} rows of ${of('column_count')} columns`,
  distribution: (of) =>
    `${of('element_count')} values from ${of('min')} to ${of('max')}, mean ${of('mean')}`,
  confusion_matrix: (of) => `${of('class_count')} classes, accuracy ${of('accuracy')}`,
  pr_curve: (of) => `average precision ${of('area')}`,
  roc_curve: (of) => `area ${of('area')}`,
  embedding: (of) => `${of('vector_count')} vectors of ${of('dimensions')}`,
  model: (of) => of('format'),
  file: (of) => of('path'),
};

function text(metadata: JsonObject, name: string): string {
  const value: JsonValue | undefined = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
  if (typeof value === 'number')
    return Number.isInteger(value) ? String(value) : shortNumber(value);
  return typeof value === 'string' ? onTerminal(value) : '-';
}

/** The content of an artifact as text; undefined for what is no text. Control characters are escaped. */
export function artifactContent(payload: JsonValue | Uint8Array): string | undefined {
  if (payload instanceof Uint8Array) return undefined;
  const content = typeof payload === 'string' ? payload : JSON.stringify(payload, null, 2);
  return withControlsShown(content).replaceAll('\r', '\\u000d');
}

const ENDINGS: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
};

/** Where an artifact is saved, below a folder: its key, its step and an ending by which other programs know it. */
export function artifactPath(record: ArtifactRecord): string {
  const { artifactKey, artifactType, id, metadata, payloadFormat, step } = record;
  const mimeType = metadata?.['mime_type'];
  let ending = payloadFormat === 'json' ? '.json' : payloadFormat === 'text' ? '.txt' : '.bin';
  if (artifactType === 'image' && typeof mimeType === 'string')
    ending = ENDINGS[mimeType] ?? ending;
  else if (artifactType === 'audio') ending = '.wav';
  else if (artifactType === 'console') ending = '.jsonl.gz';
  else if (artifactType === 'model') ending = metadata?.['format'] === 'onnx' ? '.onnx' : '.zip';
  else if (artifactType === 'file') ending = /\.[A-Za-z\d]{1,8}$/.exec(artifactKey)?.[0] ?? ending;
  return `${artifactKey}/${step === null ? '' : `step-${step}-`}${id}${ending}`;
}
