/** Maps names of a run to file paths: no path leads out of its folder, and no two names share a file. */
import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '../../base/hex.ts';
import { parseKey } from '../../base/names.ts';
import { isQuarkError } from '../../base/errors.ts';

/** File systems take 255 bytes in a name; a writer may put something behind it. */
const MAX_FILE_NAME_CHARS = 240;
const MAX_CUT_CHARS = 200;
/** Device names of Windows, which count with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$|clock\$)(?:\.|$)/i;
/** So often "_" is put behind a name that is taken; then numbers are. */
const MAX_UNDERSCORES = 8;

/** Letters, digits, "_", "-", "." and blanks are what MLflow allows, and what every file system does; no name is a way up. */
export function fileNameOf(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_.\- ]+/g, '_').slice(0, MAX_CUT_CHARS);
  return /^[. ]*$/.test(safe) ? `_${safe.replaceAll('.', '_')}` : safe;
}

/**
 * The paths of one export.
 *
 * `isPortable`: whether they are for Windows and macOS as well, where names that differ in case alone are one file. Devices of Windows
 * (`aux`) then get "_" in front, and dots and blanks at the end of a name become "_".
 */
export class FilePaths {
  readonly #isPortable: boolean;
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  /** Last number that was put behind a path. */
  readonly #numbers = new Map<string, number>();

  constructor(isPortable: boolean) {
    this.#isPortable = isPortable;
  }

  /** A path of which every part is the name of a file; a part may say anything. */
  pathOf(parts: readonly string[]): string {
    return parts.map((part) => this.#portable(fileNameOf(part))).join('/');
  }

  /** The path of a key: the key itself, where it is one and file systems take it. */
  pathOfKey(key: string): string {
    const parts = key.split('/');
    if (!isKey(key)) return this.pathOf(parts);
    return parts.map((part) => this.#portable(shortened(part))).join('/');
  }

  /** Says which folders there will be. None of these paths is a file then. */
  reserveFolders(paths: Iterable<string>): void {
    for (const path of paths)
      for (let cut = path.indexOf('/'); cut >= 0; cut = path.indexOf('/', cut + 1))
        this.#folders.add(this.#fold(path.slice(0, cut)));
  }

  /** Whether a part of the path is a file that was taken. */
  isInFile(path: string): boolean {
    const folded = this.#fold(path);
    for (let cut = folded.indexOf('/'); cut >= 0; cut = folded.indexOf('/', cut + 1))
      if (this.#files.has(folded.slice(0, cut))) return true;
    return false;
  }

  isFree(path: string): boolean {
    const folded = this.#fold(path);
    return !this.#files.has(folded) && !this.#folders.has(folded);
  }

  /** The path, with something behind it where another file or a folder has it. */
  take(path: string): string {
    let free = path;
    for (let count = 1; !this.isFree(free) && count <= MAX_UNDERSCORES; count++) free += '_';
    if (!this.isFree(free)) {
      let number = this.#numbers.get(path) ?? MAX_UNDERSCORES;
      do free = `${path}_${++number}`;
      while (!this.isFree(free));
      this.#numbers.set(path, number);
    }
    this.#files.add(this.#fold(free));
    return free;
  }

  #portable(name: string): string {
    if (!this.#isPortable) return name;
    const ended = name.replace(/[. ]+$/, (end) => '_'.repeat(end.length));
    return DEVICE.test(ended) ? `_${ended}` : ended;
  }

  #fold(path: string): string {
    return this.#isPortable ? path.toLowerCase() : path;
  }
}

function isKey(key: string): boolean {
  try {
    parseKey('key', key);
    return true;
  } catch (error) {
    if (isQuarkError(error, 'invalid_input')) return false;
    throw error;
  }
}

/** A name that file systems have room for; what tells it from others of the same beginning is a hash of it. */
function shortened(name: string): string {
  if (name.length <= MAX_FILE_NAME_CHARS) return name;
  const digest = toHex(sha256(new TextEncoder().encode(name)).subarray(0, 8));
  return `${name.slice(0, MAX_CUT_CHARS)}_${digest}`;
}
