/** Patterns of metric names. */

/** Whether a name fits a pattern, in which `*` stands for any characters and `?` for one. Takes at most pattern times name. */
export function matchesName(pattern: string, name: string): boolean {
  let [p, n] = [0, 0];
  // The last star, and the name's position that it was tried at.
  let star = -1;
  let tried = 0;
  while (n < name.length) {
    if (pattern[p] === '*') {
      star = p++;
      tried = n;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++tried;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
