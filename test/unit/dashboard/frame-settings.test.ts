/** When the page is part of another one. */
import { expect, test } from 'vitest';
import { frameSettingsOf } from '../../../dashboard/route/frame-settings.ts';

test('a page in a frame is embedded whatever its address says', () => {
  expect(frameSettingsOf('', false)).toBeUndefined();
  expect(frameSettingsOf('?embed=0', false)).toBeUndefined();
  for (const search of ['', '?embed=0', '?x=1'])
    expect(frameSettingsOf(search, true)).toBeDefined();
});

test('what is shown is in the address; what is not known is passed over', () => {
  expect(frameSettingsOf('?embed=1&metric=a%2Fb%26c&theme=dark', false)).toEqual({
    metric: 'a/b&c',
    theme: 'dark',
    awaitsFile: false,
  });
  expect(frameSettingsOf('?embed=1&theme=<b>&file=1', true)).toEqual({
    metric: undefined,
    theme: undefined,
    awaitsFile: true,
  });
  // Without a page around it, nobody sends a file.
  expect(frameSettingsOf('?embed=1&file=1', false)?.awaitsFile).toBe(false);
});
