import { describe, expect, it } from 'vitest';
import { parseDiff } from '../../../dashboard/run/code/diff.ts';

const PATCH = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,3 @@
 same
-old
+new
--- not a head
+++ nor this
diff --git "a/with \\"quote.ts" "b/with \\"quote.ts"
new file mode 100644
@@ -0,0 +1 @@
+one
\\ No newline at end of file
`;

describe('a patch', () => {
  it('is files with lines, each of its kind', () => {
    const [first, second] = parseDiff(PATCH);
    expect(first).toMatchObject({ path: 'src/a.ts', added: 2, removed: 2 });
    expect(first?.lines.map(({ kind, text }) => [kind, text])).toEqual([
      ['hunk', '@@ -1,3 +1,3 @@'],
      ['same', 'same'],
      ['removed', 'old'],
      ['added', 'new'],
      ['removed', '-- not a head'],
      ['added', '++ nor this'],
    ]);
    expect(second).toMatchObject({ added: 1, removed: 0 });
    expect(second?.path).toContain('quote.ts');
    expect(second?.lines.map(({ kind }) => kind)).toEqual(['note', 'hunk', 'added', 'note']);
  });

  it('may be anything', () => {
    expect(parseDiff('')).toEqual([]);
    expect(parseDiff('no patch at all')).toEqual([
      { path: '', added: 0, removed: 0, lines: [{ kind: 'note', text: 'no patch at all' }] },
    ]);
    const [long] = parseDiff(`diff --git a/x b/x\n@@ -1 +1 @@\n+${'y'.repeat(100_000)}`);
    expect(long?.lines[1]?.text.length).toBe(501);
  });
});
