/** A model with its weights in another file, as PyTorch's newer exporter and `onnx.save(save_as_external_data=True)` leave it. */
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import { rewritten } from '../../src/adapters/onnx/file/onnx-patch.ts';
import { readTensor } from '../../src/adapters/onnx/file/onnx-reader.ts';

/** What is said of the data of a tensor. */
export type Where = { readonly offset: number; readonly length: number };

/** A model without the numbers, and the file that has them. */
export type SplitModel = {
  readonly model: Uint8Array<ArrayBuffer>;
  readonly data: Uint8Array<ArrayBuffer>;
};

/** Tensors begin at multiples of this, so that they can be mapped into memory. */
const ALIGNMENT = 4096;

/** How entries are written; as exporters do unless given. */
export type SplitOptions = {
  readonly location?: string;
  readonly isLengthStated?: boolean;
  readonly change?: (where: Where) => Readonly<Record<string, string>>;
};

/** Takes the numbers of all initializers out of a model. */
export function withDataOutside(model: Uint8Array, options: SplitOptions = {}): SplitModel {
  const data = new ByteWriter();
  const { location = 'model.onnx.data', isLengthStated = true, change } = options;
  const outside = (bytes: Uint8Array): Uint8Array | undefined => {
    const { rawData } = readTensor(bytes);
    if (rawData === null) return undefined;
    data.raw(new Uint8Array(-data.size & (ALIGNMENT - 1)));
    const where = { offset: data.size, length: rawData.byteLength };
    data.raw(rawData);
    const entries = change?.(where) ?? {
      location,
      offset: String(where.offset),
      ...(isLengthStated ? { length: String(where.length) } : {}),
    };
    return withEntries(bytes, entries);
  };
  const made = rewritten(model, (field, graph) =>
    field === 7
      ? rewritten(graph, (inner, bytes) => (inner === 5 ? outside(bytes) : undefined))
      : undefined,
  );
  return { model: made, data: data.finish() };
}

function withEntries(
  tensor: Uint8Array,
  entries: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const message = new ByteWriter().raw(
    rewritten(tensor, (field) => (field === 9 ? null : undefined)),
  );
  for (const [key, value] of Object.entries(entries))
    message.part(13, new ByteWriter().text(1, key).text(2, value));
  return message.integer(14, 1).finish();
}
