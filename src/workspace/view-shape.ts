/** What a saved view of charts says: sections of panels, and settings at each of the three levels. */
import { checkOptionNames } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { checkLabel } from '../base/names.ts';
import {
  checkShape,
  copyShape,
  count,
  defineShape,
  list,
  optional,
  shapeFromJson,
  shapeToJson,
  text,
  texts,
  trueOrFalse,
  type Shape,
  type ValuesOf,
} from '../schema/shape.ts';
import { chartChoiceFields } from './chart-settings.ts';
import { parseFormula } from './formula.ts';

/** Limits of a view. */
export const VIEW_LIMITS = {
  sections: 200,
  panels: 2000,
  metrics: 64,
  formulas: 16,
  columns: 6,
  minHeight: 120,
  maxHeight: 1600,
} as const;

const label = (doc: string) => text({ doc, check: checkLabel });
const columns = count({
  doc: 'Columns, from 1 to 6.',
  min: 1,
  max: VIEW_LIMITS.columns,
});
const height = count({
  doc: 'Height of the curves in pixels.',
  min: VIEW_LIMITS.minHeight,
  max: VIEW_LIMITS.maxHeight,
});

const panelFields = {
  /** What tells it from the others of the view; unless given, its metrics and formulas do. */
  id: optional(label('What tells it from the others of the view.')),
  /** Unless given, what its metrics have in common. */
  title: optional(label('The title.')),
  /** Keys of metrics. */
  metrics: texts({ check: (field, value) => checkLabels(field, value, VIEW_LIMITS.metrics) }),
  /** Formulas such as `val/loss - train/loss`. */
  formulas: optional(texts({ check: checkFormulas })),
  /** Columns that it is wide; 1 unless given. */
  width: optional(columns),
  /** Height of its curves in pixels. */
  height: optional(height),
  /** Pinned panels come first, above all sections. */
  isPinned: optional(trueOrFalse()),
  /** Hidden panels are listed where they can be shown again. */
  isHidden: optional(trueOrFalse()),
  ...chartChoiceFields,
};

const panelShape: Shape<typeof panelFields> = defineShape('panel', panelFields);

const sectionFields = {
  /** The prefix of the keys whose panels it takes in by itself; its title unless given. */
  id: optional(label('The prefix of the keys that it takes in by itself.')),
  /** Its heading. */
  title: label('Its heading.'),
  /** Panels in a row, from 1 to 6; as the view says unless given. */
  columns: optional(columns),
  /** Whether only its heading is shown. */
  isFolded: optional(trueOrFalse()),
  /** In the order in which they are shown. */
  panels: list(panelShape, 'ViewPanel'),
  ...chartChoiceFields,
};

const sectionShape: Shape<typeof sectionFields> = defineShape('section', sectionFields);

const viewFields = {
  /** What people call it: unique in its project. */
  name: label('What people call it.'),
  /** Panels in a row, from 1 to 6; as many as fit unless given. */
  columns: optional(columns),
  /** Whether metrics that no panel names get panels and sections of their own; true unless given. */
  addsMetrics: optional(trueOrFalse()),
  /** Whether `train/loss` and `val/loss` share a panel that comes by itself; true unless given. */
  joinsSplits: optional(trueOrFalse()),
  /** In the order in which they are shown. */
  sections: list(sectionShape, 'ViewSection'),
  ...chartChoiceFields,
};

const viewShape: Shape<typeof viewFields> = defineShape('view', viewFields);

/** A panel of a view: what it shows, how large, and its settings. */
export type ViewPanel = ValuesOf<typeof panelFields>;

/** A section of a view: panels under a heading, with settings that they inherit. */
export type ViewSection = ValuesOf<typeof sectionFields>;

/** A view of charts: sections of panels, and settings that they inherit. */
export type ChartsView = ValuesOf<typeof viewFields>;

/**
 * Checks a view that a program made.
 *
 * @throws {QuarkError} `invalid_input` naming the field, such as `view.sections[0].panels[2].formulas[0]`, also for names that it does
 *   not know
 */
export function checkView(view: unknown): asserts view is ChartsView {
  checkNames('view', view, viewFields);
  const sections = listOf(
    'view.sections',
    Reflect.get(Object(view), 'sections'),
    VIEW_LIMITS.sections,
  );
  let panelCount = 0;
  for (const [at, section] of sections.entries()) {
    const here = `view.sections[${at}]`;
    checkNames(here, section, sectionFields);
    const panels = listOf(
      `${here}.panels`,
      Reflect.get(Object(section), 'panels'),
      VIEW_LIMITS.panels,
    );
    panelCount += panels.length;
    for (const [row, panel] of panels.entries()) {
      checkNames(`${here}.panels[${row}]`, panel, panelFields);
      checkShape(panelShape, panel, `${here}.panels[${row}].`);
    }
    checkShape(sectionShape, section, `${here}.`);
  }
  if (panelCount > VIEW_LIMITS.panels)
    throw invalidInput('view.panels', panelCount, `at most ${VIEW_LIMITS.panels} panels`);
  checkShape(viewShape, view, 'view.');
}

/**
 * A view as JSON, in the names in which it is stored.
 *
 * @throws {QuarkError} `invalid_input` as `saveView`
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { viewToJson } from 'quark-sdk/workspace';
 *
 * const sections = [{ title: 'Loss', panels: [{ metrics: ['train/loss', 'val/loss'], logY: true }] }];
 * const json = viewToJson({ name: 'Losses', sections });
 * await writeFile('losses.view.json', json);
 * console.log(JSON.parse(json).name); // Losses
 * ```
 */
export function viewToJson(view: ChartsView): string {
  checkView(view);
  return JSON.stringify(shapeToJson(viewShape, copyShape(viewShape, view)), null, 2);
}

/**
 * A view from JSON, as {@link viewToJson} wrote it. Names that this release does not know are passed over.
 *
 * @throws {QuarkError} `invalid_input` naming the field that does not fit
 * @example
 * ```js
 * import { viewFromJson, viewToJson } from 'quark-sdk/workspace';
 *
 * const json = viewToJson({ name: 'Losses', sections: [{ title: 'Loss', panels: [{ metrics: ['train/loss'] }] }] });
 * const { name, sections } = viewFromJson(json);
 * console.log(name, sections[0].panels[0].metrics); // Losses [ 'train/loss' ]
 * ```
 */
export function viewFromJson(json: string): ChartsView {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw invalidInput('view', json, 'JSON');
  }
  const view = shapeFromJson(viewShape, value, (path, found, rule) =>
    invalidInput(path === '' ? 'view' : `view.${path}`, found, rule),
  );
  checkView(view);
  return view;
}

function listOf(field: string, value: unknown, max: number): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidInput(field, value, 'a list');
  if (value.length > max) throw invalidInput(`${field}.length`, value.length, `at most ${max}`);
  return value;
}

function checkNames(what: string, value: unknown, fields: object): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidInput(what, value, 'an object');
  checkOptionNames(what, value, Object.keys(fields));
}

function checkLabels(field: string, value: unknown, max: number): readonly string[] {
  return listOf(field, value, max).map((one, at) => checkLabel(`${field}[${at}]`, one));
}

function checkFormulas(field: string, value: unknown): readonly string[] {
  return listOf(field, value, VIEW_LIMITS.formulas).map((one, at) => {
    if (typeof one !== 'string') throw invalidInput(`${field}[${at}]`, one, 'text');
    return parseFormula(one).text;
  });
}
