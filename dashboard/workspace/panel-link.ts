/** Which charts show the same part of the x axis. Pure. */
import type { ChartChoices } from 'quark-sdk/workspace';
import { ALL_PANELS } from '../charts/chart-view.ts';

/**
 * The name of the range that a chart shares; undefined: it has its own. What the panel says counts before its section, and that before
 * the workspace. A section that says so links its own charts; a panel that says so joins those of its section, else all linked ones.
 */
export function linkOf(
  isWorkspaceLinked: boolean,
  section: ChartChoices,
  panel: ChartChoices,
  sectionId: string,
): string | undefined {
  if (!(panel.isLinked ?? section.isLinked ?? isWorkspaceLinked)) return undefined;
  return section.isLinked === true ? `${ALL_PANELS} ${sectionId}` : ALL_PANELS;
}
