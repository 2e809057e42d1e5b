/** What was said of alerts of a run: that they are silenced, or known. */
import { checkInstant } from '../../base/assert.ts';
import { checkLabel, checkModuleName } from '../../base/names.ts';
import {
  defineShape,
  instantMs,
  literal,
  nullable,
  optional,
  text,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

/** Every kind of {@link Silence}. */
export const SILENCE_KINDS = ['silence', 'acknowledge'] as const;

const label = (doc: string) => text({ doc, check: checkLabel });

const selectionFields = {
  /** The rule of the alerts. */
  ruleId: label('The rule of the alerts.'),
  /** Only alerts about this layer; null for all. */
  moduleName: nullable(
    text({
      doc: 'Only alerts about this layer; null for all.',
      check: (field, value) => checkModuleName(field, value),
    }),
  ),
  /** Only alerts about this metric; null for all. */
  metricKey: nullable(label('Only alerts about this metric; null for all.')),
};

const fields = {
  ...selectionFields,
  /** `silence`: the alerts lower no score and start no action. `acknowledge`: they are known, and count as before. */
  kind: literal(SILENCE_KINDS, {
    doc: 'silence: the alerts lower no score and start no action. acknowledge: they are known, and count as before.',
  }),
  /** Why. */
  reason: label('Why. It stands in the report.'),
  /** Who said so; null where nobody is named. */
  by: nullable(label('Who said so; null where nobody is named.')),
  /** ISO 8601; null for ever. */
  until: nullable(
    text({
      doc: 'When it ends, in ISO 8601; null for ever.',
      check: (field, value) => new Date(checkInstant(field, value)).toISOString(),
    }),
  ),
  /** When it was said, in UTC epoch milliseconds. */
  atMs: instantMs({ doc: 'When it was said, in UTC epoch milliseconds.' }),
};

/** Which alerts. */
export const silencedAlertsShape: Shape<typeof selectionFields> = defineShape(
  'alerts',
  selectionFields,
);

/** A silence or an acknowledgement of alerts. */
export const silenceShape: Shape<typeof fields> = defineShape('silence', fields);

/** A silence or an acknowledgement of alerts, with who said so and why. */
export type Silence = ValuesOf<typeof fields>;

/** The same before it is said. */
export type NewSilence = Omit<Silence, 'atMs'>;

/** Which alerts: of a rule, and of those perhaps only the ones about a layer or a metric. */
export type SilencedAlerts = ValuesOf<typeof selectionFields>;

const asked = {
  ruleId: fields.ruleId,
  moduleName: optional(fields.moduleName),
  metricKey: optional(fields.metricKey),
  kind: optional(fields.kind),
  reason: fields.reason,
  by: optional(fields.by),
  until: optional(fields.until),
};

/** What a request says: what it leaves out has a default. */
export const askedSilenceShape: Shape<typeof asked> = defineShape('silence', asked);
