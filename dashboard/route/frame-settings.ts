/** Whether the page is part of another page, and what that asks for. In a frame the page shows a run and offers no change of anything. */

/** How the page is embedded. */
export type FrameSettings = {
  /** Only this metric; undefined: those of the training. */
  readonly metric: string | undefined;
  readonly theme: 'light' | 'dark' | undefined;
  /** Whether the page around it sends a file with the run. */
  readonly awaitsFile: boolean;
};

/**
 * What the part of an address between `?` and `#` says of the embedding: undefined for a page that stands for itself.
 *
 * @param isFramed whether the page is in a frame: then it is embedded, whatever its address says
 */
export function frameSettingsOf(search: string, isFramed: boolean): FrameSettings | undefined {
  const said = new URLSearchParams(search);
  if (!isFramed && said.get('embed') !== '1') return undefined;
  const theme = said.get('theme');
  return {
    metric: said.get('metric') ?? undefined,
    theme: theme === 'light' || theme === 'dark' ? theme : undefined,
    awaitsFile: isFramed && said.get('file') === '1',
  };
}

/** How this page is embedded; undefined for one that stands for itself. */
export const frameSettings: FrameSettings | undefined =
  typeof window === 'undefined'
    ? undefined
    : frameSettingsOf(window.location.search, window.parent !== window);
