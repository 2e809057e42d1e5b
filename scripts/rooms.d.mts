export function roomErrors(root: string): string[];
export function writeRooms(root: string): void;
export function treeFigures(root: string): TreeFigures;

export type FunctionFigure = {
  readonly at: string;
  readonly name: string;
  readonly lines: number;
  readonly parameters: number;
};

export type TreeFigures = {
  readonly lines: { readonly src: number; readonly pages: number };
  readonly long: readonly FunctionFigure[];
  readonly tooLong: readonly FunctionFigure[];
  readonly manyParameters: readonly FunctionFigure[];
  readonly sharedNames: ReadonlyMap<string, readonly string[]>;
};
