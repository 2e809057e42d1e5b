/** A patch of Git as files with lines, so that each is drawn in its colour, and only as many as a page can show. */

/** What a line of a patch is. */
export type PatchLineKind = 'added' | 'removed' | 'same' | 'hunk' | 'note';

/** A line of a patch, without the sign at its front. */
export type PatchLine = { readonly kind: PatchLineKind; readonly text: string };

/** A file that was changed. */
export type PatchFile = {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly PatchLine[];
};

/** Lines longer than this are cut: minified files have lines of megabytes. */
const MAX_CHARS = 500;

/** The files of a patch, in its order. A patch of another form is one file without a name. */
export function parseDiff(diff: string): readonly PatchFile[] {
  const files: { path: string; added: number; removed: number; lines: PatchLine[] }[] = [];
  let isInHunk = false;
  for (const line of diff.split('\n')) {
    if (line.startsWith('diff --git ')) {
      files.push({ path: pathOf(line), added: 0, removed: 0, lines: [] });
      isInHunk = false;
      continue;
    }
    let file = files.at(-1);
    if (file === undefined) {
      if (line === '') continue;
      file = { path: '', added: 0, removed: 0, lines: [] };
      files.push(file);
    }
    const kind = kindOf(line, isInHunk);
    if (kind === 'hunk') isInHunk = true;
    if (kind === undefined) continue;
    if (kind === 'added') file.added += 1;
    if (kind === 'removed') file.removed += 1;
    file.lines.push({ kind, text: cut(kind === 'hunk' || kind === 'note' ? line : line.slice(1)) });
  }
  return files.map((file) => withoutLastEmpty(file));
}

/** A patch ends with a line end, which is not an empty line of a file. */
function withoutLastEmpty(file: PatchFile): PatchFile {
  const last = file.lines.at(-1);
  return last?.kind === 'note' && last.text === ''
    ? { ...file, lines: file.lines.slice(0, -1) }
    : file;
}

/** Undefined for lines that say what the head of the file says. */
function kindOf(line: string, isInHunk: boolean): PatchLineKind | undefined {
  if (line.startsWith('@@')) return 'hunk';
  if (!isInHunk) return /^(?:index |--- |\+\+\+ )/.test(line) ? undefined : 'note';
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return line.startsWith(' ') ? 'same' : 'note';
}

function pathOf(line: string): string {
  const found = /^diff --git "?a\/(.*?)"? "?b\//.exec(line)?.[1];
  return found ?? line.slice('diff --git '.length);
}

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
