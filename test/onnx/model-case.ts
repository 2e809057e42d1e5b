/** What a file of the matrix is: how it is made, what it is fed, and what is expected of it. */

/** Numbers for one input. */
export type Feed = {
  readonly type: 'float32' | 'int32' | 'int64';
  readonly shape: readonly number[];
  /** Whole numbers from 0 to this, exclusive; numbers from -1 to 1 where there is none. */
  readonly below?: number;
  /** The same number everywhere. */
  readonly value?: number;
};

/** A refusal that is expected. */
export type Refusal = {
  readonly code: 'unsupported' | 'invalid_input';
  /** Names the node, and the way out. */
  readonly message: RegExp;
};

/** A file of the matrix. */
export type ModelCase = {
  readonly name: string;
  /** The exporter whose habits it has. */
  readonly exporter: string;
  readonly make: () => Uint8Array<ArrayBuffer>;
  readonly feeds: Readonly<Record<string, Feed>>;
  /** `classes`: cross-entropy with class numbers; `squares`: mean squared error. */
  readonly loss: 'classes' | 'squares';
  /** Shape of the targets. */
  readonly targets: readonly number[];
  /** How many classes there are. */
  readonly classes?: number;
  /** Value that the loss is computed from: the first output unless given. */
  readonly output?: string;
  /** An output of the file with the numbers of `output`, where that is none itself. */
  readonly shownAs?: string;
  /** Of a file that ends with a softmax: the value before it. */
  readonly logits?: string;
  readonly isTrainable?: (name: string) => boolean;
  readonly learningRate?: number;
  /** Whether `freeOnnxBatch` frees its batch first. */
  readonly isFreed?: boolean;
  /** Whether its weights are in another file, and `joinOnnxData` writes them into it first. */
  readonly isSplit?: boolean;
  /** Largest difference of an output of the saved file, by the largest output; 1e-4 unless given. */
  readonly exportTolerance?: number;
  readonly refused?: Refusal;
  /** Layers that cannot be looked at, by a part of the reason. */
  readonly notObserved?: RegExp;
};

export const image = (channels: number, size: number, batch = 3): Feed => ({
  type: 'float32',
  shape: [batch, channels, size, size],
});
export const tokens = (length: number, below: number, batch = 3): Feed => ({
  type: 'int64',
  shape: [batch, length],
  below,
});
