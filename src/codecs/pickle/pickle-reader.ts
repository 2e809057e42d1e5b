/**
 * Pickles of plain data, protocols 0 to 5: numbers, texts, lists, tuples and dictionaries, and numbers and arrays of NumPy. A pickle is a program
 * that makes objects; this reader runs none of it. Whatever makes another object is refused by its name.
 */
import { ByteReader, latin1 } from './byte-reader.ts';
import { decodeArray, setByteOrder } from './numpy-data.ts';
import {
  pickledBytes,
  EMPTY,
  itemsOf,
  listOf,
  made,
  MAKERS,
  itemValue,
  type Item,
} from './pickle-items.ts';
import { intIndex, intOf, numberOf, quotedText, unescaped } from './pickle-texts.ts';
import { damagedPickle, refusedPickle, type PickledValue } from './pickle-value.ts';

/** Opcodes that make what is not plain data, by name. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [0x50, 'PERSID'],
  [0x51, 'BINPERSID'],
  [0x69, 'INST'],
  [0x6f, 'OBJ'],
  [0x81, 'NEWOBJ'],
  [0x82, 'EXT1'],
  [0x83, 'EXT2'],
  [0x84, 'EXT4'],
  [0x8f, 'EMPTY_SET'],
  [0x90, 'ADDITEMS'],
  [0x91, 'FROZENSET'],
  [0x92, 'NEWOBJ_EX'],
  [0x97, 'NEXT_BUFFER'],
  [0x98, 'READONLY_BUFFER'],
]);

/** Whether bytes begin as a pickle of protocol 2 or later that holds a list, a dictionary or a global. */
export function isPickle(head: Uint8Array): boolean {
  const [mark = 0, protocol = 0] = head;
  if (mark !== 0x80 || protocol < 2 || protocol > 5) return false;
  const first = head[2] === 0x95 ? head[11] : head[2];
  return first !== undefined && '}](c)\u008c'.includes(String.fromCharCode(first));
}

/**
 * The value of a pickle.
 *
 * @throws {QuarkError} `invalid_input` when it makes anything but plain data, naming what; when it is cut off or damaged
 */
export function readPickle(bytes: Uint8Array<ArrayBuffer>): PickledValue {
  return new Unpickling(bytes).read();
}

class Unpickling {
  readonly #bytes: ByteReader;
  #stack: Item[] = [];
  /** Stacks below the marks. */
  readonly #marked: Item[][] = [];
  readonly #memo = new Map<number, Item>();

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = new ByteReader(bytes);
  }

  read(): PickledValue {
    for (;;) {
      const at = this.#bytes.at;
      const opcode = this.#bytes.u8();
      // STOP
      if (opcode === 0x2e) return this.#popValue();
      const isKnown =
        this.#scalar(opcode) ||
        this.#text(opcode) ||
        this.#structure(opcode) ||
        this.#object(opcode);
      if (isKnown) continue;
      const name = REFUSED.get(opcode);
      throw refusedPickle(
        name === undefined
          ? `there is no opcode 0x${opcode.toString(16)}, at byte ${at}`
          : `opcode ${name} at byte ${at} makes an object`,
      );
    }
  }

  #scalar(opcode: number): boolean {
    const bytes = this.#bytes;
    switch (opcode) {
      case 0x80: // PROTO
        bytes.u8();
        return true;
      case 0x95: // FRAME
        bytes.skip(8);
        return true;
      case 0x4e: // NONE
        return this.#push(null);
      case 0x88: // NEWTRUE
        return this.#push(true);
      case 0x89: // NEWFALSE
        return this.#push(false);
      case 0x4a: // BININT
        return this.#push(bytes.i32());
      case 0x4b: // BININT1
        return this.#push(bytes.u8());
      case 0x4d: // BININT2
        return this.#push(bytes.u16());
      case 0x8a: // LONG1
        return this.#push(bytes.long(bytes.u8()));
      case 0x8b: // LONG4
        return this.#push(bytes.long(bytes.u32()));
      case 0x47: // BINFLOAT
        return this.#push(bytes.f64());
      case 0x49: // INT
        return this.#push(intOf(bytes.line()));
      case 0x4c: // LONG
        return this.#push(numberOf(bytes.line().replace(/L$/, '')));
      case 0x46: // FLOAT
        return this.#push(numberOf(bytes.line()));
      default:
        return false;
    }
  }

  #text(opcode: number): boolean {
    const bytes = this.#bytes;
    switch (opcode) {
      case 0x53: // STRING
        return this.#push(quotedText(bytes.line()));
      case 0x56: // UNICODE
        return this.#push(unescaped(bytes.line()));
      case 0x54: // BINSTRING
        return this.#push(latin1(bytes.take(bytes.u32())));
      case 0x55: // SHORT_BINSTRING
        return this.#push(latin1(bytes.take(bytes.u8())));
      case 0x58: // BINUNICODE
        return this.#push(bytes.utf8(bytes.u32()));
      case 0x8c: // SHORT_BINUNICODE
        return this.#push(bytes.utf8(bytes.u8()));
      case 0x8d: // BINUNICODE8
        return this.#push(bytes.utf8(bytes.u64()));
      case 0x42: // BINBYTES
        return this.#push(bytes.take(bytes.u32()));
      case 0x43: // SHORT_BINBYTES
        return this.#push(bytes.take(bytes.u8()));
      case 0x8e: // BINBYTES8
      case 0x96: // BYTEARRAY8
        return this.#push(bytes.take(bytes.u64()));
      default:
        return false;
    }
  }

  #structure(opcode: number): boolean {
    switch (opcode) {
      case 0x28: // MARK
        this.#marked.push(this.#stack);
        this.#stack = [];
        return true;
      case 0x30: // POP
        if (this.#stack.length === 0) this.#toMark();
        else this.#pop();
        return true;
      case 0x31: // POP_MARK
        this.#toMark();
        return true;
      case 0x32: // DUP
        this.#stack.push(this.#top());
        return true;
      case 0x5d: // EMPTY_LIST
      case 0x29: // EMPTY_TUPLE
        return this.#push([]);
      case 0x7d: // EMPTY_DICT
        return this.#push(new Map());
      case 0x6c: // LIST
      case 0x74: // TUPLE
        return this.#pushItems(this.#toMark());
      case 0x64: // DICT
        return this.#push(this.#setAll(new Map(), this.#toMark()));
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        return this.#pushItems(this.#popSome(opcode - 0x84));
      case 0x61: // APPEND
        return this.#append([this.#pop()]);
      case 0x65: // APPENDS
        return this.#append(this.#toMark());
      case 0x73: // SETITEM
        return this.#set(this.#popSome(2));
      case 0x75: // SETITEMS
        return this.#set(this.#toMark());
      default:
        return this.#remember(opcode);
    }
  }

  #remember(opcode: number): boolean {
    const bytes = this.#bytes;
    switch (opcode) {
      case 0x70: // PUT
        return this.#put(intIndex(bytes.line()));
      case 0x71: // BINPUT
        return this.#put(bytes.u8());
      case 0x72: // LONG_BINPUT
        return this.#put(bytes.u32());
      case 0x94: // MEMOIZE
        return this.#put(this.#memo.size);
      case 0x67: // GET
        return this.#get(intIndex(bytes.line()));
      case 0x68: // BINGET
        return this.#get(bytes.u8());
      case 0x6a: // LONG_BINGET
        return this.#get(bytes.u32());
      default:
        return false;
    }
  }

  #object(opcode: number): boolean {
    switch (opcode) {
      case 0x63: // GLOBAL
        return this.#global(this.#bytes.line(), this.#bytes.line());
      case 0x93: {
        // STACK_GLOBAL
        const [module, name] = this.#popSome(2).map(itemValue);
        if (typeof module !== 'string' || typeof name !== 'string')
          throw damagedPickle('the name of an object is no text');
        return this.#global(module, name);
      }
      case 0x52: // REDUCE
        return this.#reduce();
      case 0x62: // BUILD
        return this.#build();
      default:
        return false;
    }
  }

  #global(module: string, name: string): boolean {
    const maker = MAKERS.get(`${module}.${name}`);
    if (maker === undefined)
      throw refusedPickle(
        `it has an object of ${module.slice(0, 200)}.${name.slice(0, 200)} in it`,
      );
    this.#stack.push({ kind: 'maker', maker });
    return true;
  }

  #reduce(): boolean {
    const items = itemsOf(this.#pop());
    const maker = this.#pop();
    if (maker.kind !== 'maker') throw damagedPickle('it calls what is no function');
    this.#stack.push(made(maker.maker, items));
    return true;
  }

  #build(): boolean {
    const state = this.#pop();
    const target = this.#top();
    if (target.kind !== 'dtype' && target.kind !== 'array')
      throw refusedPickle('it sets the state of an object');
    const items = itemsOf(state);
    if (target.kind === 'dtype')
      target.dtype = setByteOrder(target.dtype, itemValue(items[1] ?? EMPTY));
    else {
      const [, shape, dtype, isFortran, data] = items;
      if (dtype?.kind !== 'dtype') throw damagedPickle('an array has no type');
      target.array.values = decodeArray(
        dtype.dtype,
        listOf(itemValue(shape ?? EMPTY)),
        pickledBytes(itemValue(data ?? EMPTY)),
        itemValue(isFortran ?? EMPTY) === true,
      );
    }
    return true;
  }

  #push(value: PickledValue): true {
    this.#stack.push({ kind: 'value', value });
    return true;
  }

  /** A list or tuple. */
  #pushItems(items: readonly Item[]): true {
    const isPlain = items.every((item) => item.kind === 'value' || item.kind === 'array');
    if (isPlain) return this.#push(items.map(itemValue));
    this.#stack.push({ kind: 'call', items });
    return true;
  }

  #append(items: readonly Item[]): true {
    const list = itemValue(this.#top());
    if (!Array.isArray(list)) throw damagedPickle('it appends to what is no list');
    for (const item of items) list.push(itemValue(item));
    return true;
  }

  #set(items: readonly Item[]): true {
    const map = itemValue(this.#top());
    if (!(map instanceof Map)) throw damagedPickle('it sets a key of what is no dictionary');
    this.#setAll(map, items);
    return true;
  }

  #setAll(
    map: Map<PickledValue, PickledValue>,
    items: readonly Item[],
  ): Map<PickledValue, PickledValue> {
    for (let i = 0; i + 1 < items.length; i += 2)
      map.set(itemValue(items[i] ?? EMPTY), itemValue(items[i + 1] ?? EMPTY));
    return map;
  }

  #put(index: number): true {
    this.#memo.set(index, this.#top());
    return true;
  }

  #get(index: number): true {
    const item = this.#memo.get(index);
    if (item === undefined) throw damagedPickle(`there is nothing at ${index} of its memo`);
    this.#stack.push(item);
    return true;
  }

  #top(): Item {
    const item = this.#stack.at(-1);
    if (item === undefined) throw damagedPickle('its stack is empty');
    return item;
  }

  #pop(): Item {
    const item = this.#stack.pop();
    if (item === undefined) throw damagedPickle('its stack is empty');
    return item;
  }

  #popValue(): PickledValue {
    return itemValue(this.#pop());
  }

  #popSome(count: number): Item[] {
    if (this.#stack.length < count) throw damagedPickle('its stack is empty');
    return this.#stack.splice(-count, count);
  }

  #toMark(): Item[] {
    const below = this.#marked.pop();
    if (below === undefined) throw damagedPickle('it has no mark');
    const items = this.#stack;
    this.#stack = below;
    return items;
  }
}
