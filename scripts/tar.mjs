// Reads plain ustar: archives that hold short names, files and folders, nothing else.

/** The entries of an archive: `name`, `isFolder` and `content`. */
export function* tarEntries(archive) {
  const text = (start, end) => archive.toString('latin1', start, end).replace(/\0.*$/s, '').trim();
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, at + 136), 8) || 0;
    const kind = text(at + 156, at + 157);
    const content = archive.subarray(at + 512, at + 512 + size);
    const isFolder = kind === '5';
    if (isFolder || kind === '0' || kind === '')
      yield { name: text(at, at + 100), isFolder, content };
    at += 512 + Math.ceil(size / 512) * 512;
  }
}
