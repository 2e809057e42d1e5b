/** The code blocks of a document: what stands between fences. */

/** A block of code. */
export type DocumentBlock = {
  readonly document: string;
  /** Its number among the blocks of the document. */
  readonly index: number;
  /** Line of its fence, from 1. */
  readonly line: number;
  /** First word behind the fence; empty text where there is none. */
  readonly language: string;
  readonly code: string;
};

/** Blocks of a document, in order. */
export function blocksOf(document: string, text: string): readonly DocumentBlock[] {
  const blocks: DocumentBlock[] = [];
  let open: { line: number; language: string; lines: string[] } | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const fence = /^```(\S*)/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { line: at + 1, language: fence[1] ?? '', lines: [] };
    else {
      const { lines, ...rest } = open;
      blocks.push({ document, index: blocks.length, ...rest, code: lines.join('\n') });
      open = undefined;
    }
  }
  return blocks;
}
