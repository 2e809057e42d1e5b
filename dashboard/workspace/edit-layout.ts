/** Changes of a view: each gives a new one. Pure. */
import type { ChartsView, ViewPanel, ViewSection } from 'quark-sdk/workspace';
import { panelIdOf, sectionIdOf, writtenOut } from './layout.ts';

/** What a change starts from: the view, and the metrics whose panels come by themselves. */
export type Editable = { readonly view: ChartsView; readonly keys: readonly string[] };

/** Changes a panel; a field that is undefined is taken out. */
export function changePanel(
  { view, keys }: Editable,
  panelId: string,
  change: Changes<ViewPanel>,
): ChartsView {
  const sections = narrowed(view, keys, panelId);
  return mapPanels({ ...view, sections }, (panel) =>
    panelIdOf(panel) === panelId ? changed(panel, change) : panel,
  );
}

/** Changes a section; a field that is undefined is taken out. */
export function changeSection(
  { view, keys }: Editable,
  sectionId: string,
  change: Changes<Omit<ViewSection, 'id' | 'panels'>>,
): ChartsView {
  const all = writtenOut(view, keys);
  const stored = new Set(view.sections.map(sectionIdOf));
  const sections = [
    ...view.sections,
    ...all.sections
      .filter((one) => sectionIdOf(one) === sectionId && !stored.has(sectionId))
      // Its panels go on coming by themselves.
      .map((one) => ({ ...one, panels: [] })),
  ];
  return {
    ...view,
    sections: sections.map((one) =>
      sectionIdOf(one) === sectionId
        ? { ...changed<ViewSection>(one, change), id: sectionId }
        : one,
    ),
  };
}

/** Puts a panel before another one, or with undefined at the end of a section. */
export function movePanel(
  { view, keys }: Editable,
  panelId: string,
  sectionId: string,
  beforeId?: string,
): ChartsView {
  const all = writtenOut(view, keys);
  const moved = all.sections
    .flatMap(({ panels }) => panels)
    .find((one) => panelIdOf(one) === panelId);
  const isThere = all.sections.some((one) => sectionIdOf(one) === sectionId);
  if (moved === undefined || !isThere || panelId === beforeId) return view;
  return {
    ...all,
    sections: all.sections.map((section) => {
      const panels = section.panels.filter((one) => panelIdOf(one) !== panelId);
      if (sectionIdOf(section) !== sectionId) return { ...section, panels };
      const at = panels.findIndex((one) => panelIdOf(one) === beforeId);
      return { ...section, panels: panels.toSpliced(at < 0 ? panels.length : at, 0, moved) };
    }),
  };
}

/** Puts a panel where another one is: before it, or after it where it comes from before it. */
export function dropPanel(of: Editable, panelId: string, targetId: string): ChartsView {
  const { sections } = writtenOut(of.view, of.keys);
  const home = sections.find(({ panels }) => panels.some((one) => panelIdOf(one) === targetId));
  if (home === undefined) return of.view;
  const ids = home.panels.map(panelIdOf);
  const [from, to] = [ids.indexOf(panelId), ids.indexOf(targetId)];
  return movePanel(of, panelId, sectionIdOf(home), from >= 0 && from < to ? ids[to + 1] : targetId);
}

/** Moves a panel by some positions among those of its section that are shown. */
export function shiftPanel(
  of: Editable,
  panelId: string,
  shown: readonly string[],
  by: number,
): ChartsView {
  const at = shown.indexOf(panelId);
  const to = Math.max(0, Math.min(shown.length - 1, at + by));
  const home = writtenOut(of.view, of.keys).sections.find(({ panels }) =>
    panels.some((one) => panelIdOf(one) === panelId),
  );
  if (at < 0 || to === at || home === undefined) return of.view;
  return movePanel(of, panelId, sectionIdOf(home), shown[by > 0 ? to + 1 : to]);
}

/** Moves a section by some positions. */
export function shiftSection({ view, keys }: Editable, sectionId: string, by: number): ChartsView {
  const { sections } = writtenOut(view, keys);
  const at = sections.findIndex((one) => sectionIdOf(one) === sectionId);
  const moved = sections[at];
  const to = Math.max(0, Math.min(sections.length - 1, at + by));
  if (moved === undefined || to === at) return view;
  const stored = new Map(view.sections.map((one) => [sectionIdOf(one), one]));
  const ordered = sections.toSpliced(at, 1).toSpliced(to, 0, moved);
  return {
    ...view,
    // Panels of sections that nobody has changed go on coming by themselves.
    sections: ordered.map((one) => stored.get(sectionIdOf(one)) ?? { ...one, panels: [] }),
  };
}

/** Adds a panel to a section, which is made where it is not there. */
export function addPanel(
  { view, keys }: Editable,
  panel: ViewPanel,
  sectionId: string,
): ChartsView {
  // The panels that its metrics have by themselves stay.
  const all = writtenOut(view, keys);
  const taken = new Set(all.sections.flatMap(({ panels }) => panels.map(panelIdOf)));
  let id = panelIdOf(panel);
  for (let count = 2; taken.has(id); count += 1) id = `${panelIdOf(panel)} ${count}`;
  const added = { ...panel, id };
  const isThere = all.sections.some((one) => sectionIdOf(one) === sectionId);
  const sections = isThere
    ? all.sections
    : [{ id: sectionId, title: sectionId, panels: [] }, ...all.sections];
  return {
    ...all,
    sections: sections.map((one) =>
      sectionIdOf(one) === sectionId ? { ...one, panels: [...one.panels, added] } : one,
    ),
  };
}

/** Takes a panel out that somebody added. */
export function removePanel({ view, keys }: Editable, panelId: string): ChartsView {
  const all = writtenOut(view, keys);
  return {
    ...all,
    sections: all.sections.map((section) => ({
      ...section,
      panels: section.panels.filter((one) => panelIdOf(one) !== panelId),
    })),
  };
}

/** Fields that get another value, or with undefined none. */
export type Changes<T> = { readonly [K in keyof T]?: T[K] | undefined };

function changed<T extends object>(item: T, change: Changes<T>): T {
  const next = { ...item, ...change };
  for (const [name, value] of Object.entries(change))
    if (value === undefined) Reflect.deleteProperty(next, name);
  return next;
}

/** The sections with the one of a panel written out, so that the others go on coming by themselves. */
function narrowed(
  view: ChartsView,
  keys: readonly string[],
  panelId: string,
): readonly ViewSection[] {
  const all = writtenOut(view, keys);
  const has = (section: ViewSection): boolean =>
    section.panels.some((one) => panelIdOf(one) === panelId);
  const home = all.sections.find(has);
  if (home === undefined) return view.sections;
  const id = sectionIdOf(home);
  const isStored = view.sections.some((one) => sectionIdOf(one) === id);
  const sections = view.sections.map((one) => (sectionIdOf(one) === id ? home : one));
  return isStored ? sections : [...sections, home];
}

function mapPanels(view: ChartsView, map: (panel: ViewPanel) => ViewPanel): ChartsView {
  return {
    ...view,
    sections: view.sections.map((section) => ({ ...section, panels: section.panels.map(map) })),
  };
}
