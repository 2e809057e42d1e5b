/** What TensorBoard's hyperparameter plugin keeps in the metadata of a summary (HParamsPluginData). */
import { ProtoReader } from '../../../codecs/protobuf/reader.ts';

/** What one such message tells. */
export type HparamsData =
  | {
      readonly kind: 'start';
      readonly hparams: Readonly<Record<string, unknown>>;
      readonly about: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'end'; readonly status: 'completed' | 'failed' | 'interrupted' }
  | { readonly kind: 'other' };

const MAX_HPARAMS = 10_000;
const MAX_NESTED = 16;
/** STATUS_SUCCESS, STATUS_FAILURE, STATUS_RUNNING. */
const STATUS = [undefined, 'completed', 'failed', 'interrupted'] as const;

/** Reads the HParamsPluginData that `field` is at. */
export function readHparams(field: ProtoReader): HparamsData {
  const message = new ProtoReader().enter(field);
  while (message.next()) {
    if (message.field === 3) return readStart(message);
    if (message.field === 4) {
      const end = new ProtoReader().enter(message);
      while (end.next()) {
        const status = end.field === 1 ? STATUS[end.integer] : undefined;
        if (status !== undefined) return { kind: 'end', status };
      }
    }
  }
  return { kind: 'other' };
}

function readStart(field: ProtoReader): HparamsData {
  const message = new ProtoReader().enter(field);
  const hparams = new Map<string, unknown>();
  const about: Record<string, unknown> = {};
  while (message.next()) {
    switch (message.field) {
      case 1:
        if (hparams.size < MAX_HPARAMS) readEntry(message, hparams, MAX_NESTED);
        break;
      case 2:
        about['model_uri'] = message.text();
        break;
      case 3:
        about['monitor_url'] = message.text();
        break;
      case 4:
        about['group_name'] = message.text();
        break;
      case 5:
        about['start_time_secs'] = message.double();
        break;
      default:
    }
  }
  return { kind: 'start', hparams: Object.fromEntries(hparams), about };
}

/** An entry of a map from text to google.protobuf.Value. */
function readEntry(field: ProtoReader, target: Map<string, unknown>, depth: number): void {
  const entry = new ProtoReader().enter(field);
  let key = '';
  let value: unknown = null;
  while (entry.next()) {
    if (entry.field === 1) key = entry.text();
    else if (entry.field === 2) value = readValue(entry, depth);
  }
  if (!entry.isBroken) target.set(key, value);
}

function readValue(field: ProtoReader, depth: number): unknown {
  const message = new ProtoReader().enter(field);
  let value: unknown = null;
  while (message.next()) {
    switch (message.field) {
      case 2:
        value = message.double();
        break;
      case 3:
        value = message.text();
        break;
      case 4:
        value = message.integer !== 0;
        break;
      case 5:
      case 6:
        value = depth > 0 ? readNested(message, depth - 1) : '…';
        break;
      default:
        value = null;
    }
  }
  return value;
}

/** A Struct (a map) or a ListValue. */
function readNested(field: ProtoReader, depth: number): unknown {
  const isStruct = field.field === 5;
  const message = new ProtoReader().enter(field);
  const entries = new Map<string, unknown>();
  const list: unknown[] = [];
  while (message.next()) {
    if (message.field !== 1 || entries.size + list.length >= MAX_HPARAMS) continue;
    if (isStruct) readEntry(message, entries, depth);
    else list.push(readValue(message, depth));
  }
  return isStruct ? Object.fromEntries(entries) : list;
}
