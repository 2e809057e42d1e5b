/**
 * The code blocks of a document: what stands between fences. Behind the language of a program stand its attributes:
 *
 * - `js continues`: goes on from the block before, as one program;
 * - `js throws=QuarkError:invalid_input`: ends with an error of this name and code;
 * - `js page`: needs a page, and is run in a browser;
 * - `js not-run="why"`: cannot be run; its imports from the package are.
 */

/** A block of code. */
export type DocumentBlock = {
  readonly document: string;
  /** Its number among the blocks of the document. */
  readonly index: number;
  /** Line of its fence, from 1. */
  readonly line: number;
  /** First word behind the fence; empty text where there is none. */
  readonly language: string;
  /** What stands behind the first word. */
  readonly attributes: string;
  readonly code: string;
};

/** Blocks of a document that are one program. */
export type DocumentProgram = {
  readonly document: string;
  /** Index and line of its first block. */
  readonly index: number;
  readonly line: number;
  readonly code: string;
  /** Name and code of the error that it ends with. */
  readonly throws: string | undefined;
  readonly isPage: boolean;
  /** Why it is not run. */
  readonly notRun: string | undefined;
};

/** Blocks of a document, in order. */
export function blocksOf(document: string, text: string): readonly DocumentBlock[] {
  const blocks: DocumentBlock[] = [];
  let open: Pick<DocumentBlock, 'line' | 'language' | 'attributes'> | undefined;
  let lines: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    const fence = /^```(\S*)\s*(.*)$/.exec(line);
    if (fence === null) lines.push(line);
    else if (open === undefined) {
      open = { line: at + 1, language: fence[1] ?? '', attributes: (fence[2] ?? '').trim() };
      lines = [];
    } else {
      blocks.push({ document, index: blocks.length, ...open, code: lines.join('\n') });
      open = undefined;
    }
  }
  return blocks;
}

/** @throws {Error} for an attribute that is none, or a block that goes on from nothing */
export function programsOf(blocks: readonly DocumentBlock[]): readonly DocumentProgram[] {
  const programs: DocumentProgram[] = [];
  for (const block of blocks.filter(({ language }) => language === 'js')) {
    const { attributes, code, document, index, line } = block;
    const location = `${document}:${line}`;
    const found = /^(continues)?(?: ?throws=(\w+:\w+)| ?(page)| ?not-run="(.+)")?$/.exec(
      attributes,
    );
    if (found === null) throw new Error(`${location}: nothing is known of "js ${attributes}".`);
    const [, continues, throws, page, notRun] = found;
    const own = { throws, isPage: page !== undefined, notRun };
    const before = programs.at(-1);
    if (continues === undefined) programs.push({ document, index, line, code, ...own });
    else if (before?.document !== document || before.throws !== undefined)
      throw new Error(`${location} goes on from no block.`);
    else
      programs[programs.length - 1] = {
        ...before,
        throws,
        notRun: notRun ?? before.notRun,
        isPage: own.isPage || before.isPage,
        code: `${before.code}\n${code}`,
      };
  }
  return programs;
}
