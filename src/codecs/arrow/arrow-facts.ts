/** What an Arrow stream says of itself before its data. Apart from the reader, which pages load that only record. */
import { CONTINUATION, HEADER_SCHEMA } from './arrow-format.ts';
import { damaged, FlatTable } from './flatbuffer.ts';

const MAX_FACTS = 1024;

/** The metadata of the schema, which is the first message of a stream. */
export function readArrowFacts(bytes: Uint8Array): ReadonlyMap<string, string> {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 8 || words.getUint32(0, true) !== CONTINUATION)
    throw damaged('a message does not start with its marker');
  const end = 8 + words.getInt32(4, true);
  if (end < 8 || end > bytes.byteLength) throw damaged('a message is longer than the segment');
  const message = FlatTable.root(bytes.slice(8, end));
  const schema = message.int8(1) === HEADER_SCHEMA ? message.table(2) : undefined;
  if (schema === undefined) throw damaged('there is no schema');
  return new Map(
    schema
      .tables(2)
      .slice(0, MAX_FACTS)
      .map((pair) => [pair.string(0), pair.string(1)]),
  );
}
