/** Cuts the bytes of a segment in a database to five, whichever driver runs it. Parameters: writer, batch number. */
export const CUT_SEGMENT = `UPDATE segment_bytes SET bytes = substr(bytes, 1, 5) WHERE segment_key =
  (SELECT segment_key FROM segments WHERE writer_id = ? AND batch_number = ?)`;
