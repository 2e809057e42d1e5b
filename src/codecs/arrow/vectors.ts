/** Columns in memory: what writers fill, what segments hold, what readers see. */

/** A `count` or `instant` column; NaN is null. */
export type NumberVector = { readonly kind: 'number'; readonly values: Float64Array };

/** An `f64` column. NaN is a value; `isNull[i] === 1` marks nulls. */
export type F64Vector = {
  readonly kind: 'f64';
  readonly values: Float64Array;
  readonly isNull: Uint8Array | null;
};

/** A `key` column: positions in a dictionary; -1 is null. */
export type KeyVector = {
  readonly kind: 'key';
  readonly dictionary: readonly string[];
  readonly indices: Int32Array;
};

/** A `text` or `json` column. */
export type TextVector = { readonly kind: 'text'; readonly values: readonly (string | null)[] };

/** A `bool` column: 0, 1, or 2 for null. */
export type BoolVector = { readonly kind: 'bool'; readonly values: Uint8Array };

/** An `f64_list` column. */
export type F64ListVector = {
  readonly kind: 'f64_list';
  readonly values: readonly (Float64Array | null)[];
};

/** A `text_list` column. */
export type TextListVector = {
  readonly kind: 'text_list';
  readonly values: readonly (readonly string[] | null)[];
};

/** The values of one column. */
export type Vector =
  | NumberVector
  | F64Vector
  | KeyVector
  | TextVector
  | BoolVector
  | F64ListVector
  | TextListVector;

/** Rows of a table as columns by stored name. A column that is not there is null in every row. */
export type RowBatch = { readonly rowCount: number; readonly columns: ReadonlyMap<string, Vector> };
