import { describe, expect, it } from 'vitest';
import { keyWords } from '../../../dashboard/app/key-words.ts';
import { matchEntries } from '../../../dashboard/app/palette-match.ts';

const entries = [
  { title: 'Compare the chosen runs', section: 'Runs' },
  { title: 'Change the theme', section: 'Everywhere' },
  { title: 'Archive the run', section: 'Run' },
  { title: 'Größe der Charts', section: 'Charts' },
];
const titles = (text: string): readonly string[] =>
  matchEntries(entries, text).map(({ title }) => title);

describe('matchEntries', () => {
  it('finds all without a text, in their order', () => {
    expect(titles('  ')).toEqual(entries.map(({ title }) => title));
  });

  it('wants each word, in title or section, and puts beginnings of titles first', () => {
    expect(titles('run')).toEqual(['Compare the chosen runs', 'Archive the run']);
    expect(titles('archive run')).toEqual(['Archive the run']);
    expect(titles('ch')[0]).toBe('Change the theme');
    expect(titles('archive chart')).toEqual([]);
  });

  it('is deaf to case and accents', () => {
    expect(titles('GROSSE')).toEqual(['Größe der Charts']);
    expect(titles('größe')).toEqual(['Größe der Charts']);
  });

  it('finds at most as many as asked for', () => {
    expect(matchEntries(entries, '', 2)).toHaveLength(2);
  });
});

describe('keyWords', () => {
  it('reads as on a keyboard', () => {
    expect(keyWords('ctrl+k', false)).toBe('Ctrl K');
    expect(keyWords('ctrl+k', true)).toBe('⌘ K');
    expect(keyWords('+', false)).toBe('+');
    expect(keyWords('ctrl++', false)).toBe('Ctrl +');
    expect(keyWords('shift+arrowdown', false)).toBe('Shift ↓');
  });
});
