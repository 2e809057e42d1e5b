/**
 * Packed segments unpacked in WebAssembly, in one memory: their checksum, DEFLATE and the byte planes. Several times as fast as zlib and
 * JavaScript, without a buffer of either. The sources are in `assembly/unpack`.
 */
import { compileEmbedded } from '../../kernel/twins.ts';
import { damaged } from '../arrow/flatbuffer.ts';
import { holdsLess, holdsMore, isBroken } from './inflate.ts';
import { IN_STREAM, RANDOM } from './pack.ts';
import { packedParts, type PackedParts } from './unpack.ts';
import { wasmBase64 } from './wasm.generated.ts';

type Join = (out: number, rows: number, planes: number, isDelta: number) => void;

/** What the module exports, beside its memory. */
type Functions = {
  readonly digest: (at: number, length: number, seed: number) => number;
  readonly inflate: (from: number, size: number, to: number, length: number) => number;
  readonly joinPairs: Join;
  readonly joinWords: Join;
  readonly joinLongs: Join;
  readonly heapBase: () => number;
};

type Instance = { readonly functions: Functions; readonly memory: WebAssembly.Memory };

const PAGE_BYTES = 65_536;
/** A memory that has grown beyond this is given back before the next segment. */
const RETAIN_BYTES = 16 << 20;
/** The table of eight planes, then the bytes of planes that are one byte, 16 of each. */
const TABLE_BYTES = 64;
const CONSTANT_BYTES = 16;
/** What the functions read and write behind their input and output: see `assembly/unpack`. */
const SLACK_BYTES = 128;

/** What is asked of the bytes before they are unpacked. */
export type Digest = { readonly seed: number; readonly checksum: number };

/** The module of one thread. */
export class UnpackModule {
  readonly #module: WebAssembly.Module;
  #instance: Instance;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
    this.#instance = instantiate(module);
  }

  /**
   * The Arrow bytes of a packed segment, as a view of memory that the next call uses again.
   *
   * @param digest the XXH32 of `packed`, unless that is known to be right
   * @throws {QuarkError} `segment_damaged`
   */
  unpack(packed: Uint8Array, digest?: Digest): Uint8Array<ArrayBuffer> {
    if (this.#instance.memory.buffer.byteLength > RETAIN_BYTES)
      this.#instance = instantiate(this.#module);
    const { functions, memory } = this.#instance;
    const table = functions.heapBase();
    const from = table + TABLE_BYTES + 8 * CONSTANT_BYTES;
    grow(memory, from + packed.byteLength + SLACK_BYTES);
    const behind = from + packed.byteLength;
    const bytes = new Uint8Array(memory.buffer);
    bytes.set(packed, from);
    bytes.fill(0, behind, behind + SLACK_BYTES);
    if (
      digest !== undefined &&
      functions.digest(from, packed.byteLength, digest.seed) >>> 0 !== digest.checksum
    )
      throw damaged('its checksum does not match');
    const parts = packedParts(packed);
    const { deflated, length } = parts.header;
    const stream = aligned(behind + SLACK_BYTES);
    const arrow = aligned(stream + deflated + SLACK_BYTES);
    grow(memory, arrow + length + SLACK_BYTES);
    const size = packed.byteLength - parts.streamAt;
    const status = functions.inflate(from + parts.streamAt, size, stream, deflated);
    if (status !== 0) throw status === 1 ? holdsLess() : status === 2 ? holdsMore() : isBroken();
    join(this.#instance, parts, { table, from, stream, arrow });
    return new Uint8Array(memory.buffer, arrow, length);
  }
}

/** @throws {WebAssembly.CompileError} where SIMD is missing or the page's policy forbids WebAssembly */
export async function createUnpackModule(): Promise<UnpackModule> {
  return new UnpackModule(await compileEmbedded(wasmBase64()));
}

function instantiate(module: WebAssembly.Module): Instance {
  const { exports } = new WebAssembly.Instance(module, {});
  // Built with this file: only here do its exports get their types.
  return { functions: exports as Functions, memory: exports['memory'] as WebAssembly.Memory };
}

function grow(memory: WebAssembly.Memory, byteLength: number): void {
  const missing = byteLength - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
}

function aligned(address: number): number {
  return (address + 15) & ~15;
}

/** Addresses of the parts. */
type Layout = {
  readonly table: number;
  readonly from: number;
  readonly stream: number;
  readonly arrow: number;
};

/** Puts the chunks together, from the first to the last: what is written behind one is written over by the next. */
function join(
  { functions, memory }: Instance,
  { header, randomAt }: PackedParts,
  { arrow, from, stream, table }: Layout,
): void {
  const bytes = new Uint8Array(memory.buffer);
  const entries = new Uint32Array(memory.buffer, table, TABLE_BYTES / 4);
  const constants = table + TABLE_BYTES;
  let random = from + randomAt;
  let streamed = stream;
  let out = arrow;
  for (const chunk of header.pieces) {
    const [length] = chunk;
    if (chunk.length === 1) {
      bytes.copyWithin(out, streamed, streamed + length);
      streamed += length;
    } else {
      const [, width, isDelta, planes] = chunk;
      const rowCount = length / width;
      for (const [i, plane] of planes.entries()) {
        const constant = constants + CONSTANT_BYTES * i;
        if (plane >= 0) bytes.fill(plane, constant, constant + CONSTANT_BYTES);
        entries[2 * i] = plane === RANDOM ? random : plane === IN_STREAM ? streamed : constant;
        entries[2 * i + 1] = plane >= 0 ? 0 : CONSTANT_BYTES;
        if (plane === RANDOM) random += rowCount;
        else if (plane === IN_STREAM) streamed += rowCount;
      }
      const { joinLongs, joinPairs, joinWords } = functions;
      const joined = width === 8 ? joinLongs : width === 4 ? joinWords : joinPairs;
      joined(out, rowCount, table, isDelta);
    }
    out += length;
  }
}
