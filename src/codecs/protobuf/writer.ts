/** Writes protocol buffers and the numbers around them, into memory that grows. */
export class ByteWriter {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** What was written: a view that the next write may change. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#size);
  }

  /** A copy of what was written. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#size);
  }

  clear(): this {
    this.#size = 0;
    return this;
  }

  /** A field of a varint; negative integers take ten bytes, as int64 does. */
  integer(field: number, value: number): this {
    return this.varint(field * 8).varint(value);
  }

  double(field: number, value: number): this {
    return this.varint(field * 8 + 1).float64(value);
  }

  float(field: number, value: number): this {
    this.varint(field * 8 + 5).#room(4);
    this.#view.setFloat32(this.#size, value, true);
    this.#size += 4;
    return this;
  }

  text(field: number, text: string): this {
    return this.part(field, new TextEncoder().encode(text));
  }

  /** A field of bytes, or of a message that was written elsewhere. */
  part(field: number, bytes: Uint8Array | ByteWriter): this {
    const content = bytes instanceof ByteWriter ? bytes.bytes : bytes;
    return this.varint(field * 8 + 2)
      .varint(content.byteLength)
      .raw(content);
  }

  raw(bytes: Uint8Array): this {
    this.#room(bytes.byteLength);
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.byteLength;
    return this;
  }

  uint32(value: number): this {
    this.#room(4);
    this.#view.setUint32(this.#size, value, true);
    this.#size += 4;
    return this;
  }

  float64(value: number): this {
    this.#room(8);
    this.#view.setFloat64(this.#size, value, true);
    this.#size += 8;
    return this;
  }

  varint(value: number): this {
    this.#room(10);
    if (value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 127n; rest >>= 7n) this.#bytes[this.#size++] = Number(rest & 127n) | 128;
      this.#bytes[this.#size++] = Number(rest);
      return this;
    }
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128))
      this.#bytes[this.#size++] = (rest % 128) | 128;
    this.#bytes[this.#size++] = rest;
    return this;
  }

  #room(count: number): void {
    if (this.#size + count <= this.#bytes.byteLength) return;
    const grown = new Uint8Array(Math.max(this.#size + count, 2 * this.#bytes.byteLength));
    grown.set(this.bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}
