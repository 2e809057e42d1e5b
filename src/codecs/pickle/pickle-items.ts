/** What is on the stack of a pickle while it is read, and the few calls that make plain data. */
import { decodeArray, decodeScalar, dtypeOf, type PickledDtype } from './numpy-data.ts';
import { damagedPickle, refusedPickle, type PickledValue } from './pickle-value.ts';

/** A global that stands for a way to make plain data. */
type Maker =
  | 'bytes'
  | 'defaultdict'
  | 'dict'
  | 'dtype'
  | 'factory'
  | 'frombuffer'
  | 'ndarray'
  | 'reconstruct'
  | 'scalar';

/** An array that waits for its state. */
type OpenArray = { values: PickledValue | undefined };

export type Item =
  | { readonly kind: 'value'; readonly value: PickledValue }
  /** What a call is given, with a type or a maker in it. */
  | { readonly kind: 'call'; readonly items: readonly Item[] }
  | { readonly kind: 'maker'; readonly maker: Maker }
  | { readonly kind: 'dtype'; dtype: PickledDtype }
  | { readonly kind: 'array'; readonly array: OpenArray };

export const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['_codecs.encode', 'bytes'],
  ['collections.OrderedDict', 'dict'],
  ['collections.defaultdict', 'defaultdict'],
  ['builtins.list', 'factory'],
  ['builtins.dict', 'factory'],
  ['builtins.int', 'factory'],
  ['builtins.float', 'factory'],
  ['__builtin__.list', 'factory'],
  ['__builtin__.dict', 'factory'],
  ['__builtin__.int', 'factory'],
  ['__builtin__.float', 'factory'],
  ['numpy.dtype', 'dtype'],
  ['numpy.ndarray', 'ndarray'],
  ...['numpy.core', 'numpy._core'].flatMap((core): [string, Maker][] => [
    [`${core}.multiarray._reconstruct`, 'reconstruct'],
    [`${core}.multiarray.scalar`, 'scalar'],
    [`${core}.numeric._frombuffer`, 'frombuffer'],
  ]),
]);

export const EMPTY: Item = { kind: 'value', value: null };

/** What a call makes. */
export function made(maker: Maker, items: readonly Item[]): Item {
  const given = (i: number): PickledValue => itemValue(items[i] ?? EMPTY);
  switch (maker) {
    case 'bytes':
      return { kind: 'value', value: pickledBytes(given(0)) };
    case 'dict':
      return { kind: 'value', value: mapOf(items.length === 0 ? [] : listOf(given(0))) };
    case 'defaultdict':
      return { kind: 'value', value: new Map() };
    case 'dtype':
      return { kind: 'dtype', dtype: dtypeOf(given(0)) };
    case 'reconstruct':
      return { kind: 'array', array: { values: undefined } };
    case 'scalar':
    case 'frombuffer': {
      const [first, second] = maker === 'scalar' ? items : [items[1], items[0]];
      if (first?.kind !== 'dtype') throw damagedPickle('an array has no type');
      const bytes = pickledBytes(itemValue(second ?? EMPTY));
      const value =
        maker === 'scalar'
          ? decodeScalar(first.dtype, bytes)
          : decodeArray(first.dtype, listOf(given(2)), bytes, given(3) === 'F');
      return { kind: 'value', value };
    }
    default:
      throw refusedPickle('it makes an object by its type');
  }
}

export function itemValue(item: Item): PickledValue {
  if (item.kind === 'value') return item.value;
  if (item.kind === 'array' && item.array.values !== undefined) return item.array.values;
  throw refusedPickle('it has a type, or an array without its numbers, where data should be');
}

/** The items of a list that a call is given. */
export function itemsOf(item: Item): readonly Item[] {
  if (item.kind === 'call') return item.items;
  return listOf(itemValue(item)).map((value): Item => ({ kind: 'value', value }));
}

export function listOf(value: PickledValue): PickledValue[] {
  if (!Array.isArray(value)) throw damagedPickle('a list is missing in it');
  return value;
}

function mapOf(pairs: readonly PickledValue[]): Map<PickledValue, PickledValue> {
  return new Map(
    pairs.map((pair): [PickledValue, PickledValue] => {
      const [key = null, value = null] = listOf(pair);
      return [key, value];
    }),
  );
}

/** Bytes, also as Python 2 and protocols before 3 write them: as text of which each character is one. */
export function pickledBytes(value: PickledValue): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== 'string') throw damagedPickle('bytes are missing in it');
  return Uint8Array.from(value, (character) => character.charCodeAt(0) & 0xff);
}
