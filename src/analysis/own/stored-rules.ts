/**
 * Rules without code that go with a run: an event of the run has them, so that pages, services and other machines judge it by the same
 * limits. They are data, and are checked like those of a file; the last event counts.
 */
import { messageOf } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { EventColumns } from '../columns/run-columns.ts';
import type { DeclaredRule } from './declared-rule.ts';
import { checkOwnRules, rulesWith, type OwnRules, type RuleProblem } from './own-rules.ts';

/** The type of the event. */
export const RULES_EVENT = 'analysis_rules';

/** Most rules that are taken from a run. */
const MAX_STORED = 100;

/** What the event says of rules. */
export function rulesPayload({ declared }: OwnRules): JsonObject {
  // Ids are given by now, so that a silence finds its rule again; a checked rule is plain data.
  const rules = declared.map((rule) =>
    JSON.parse(JSON.stringify({ ...rule, condition: undefined })),
  );
  return { rules };
}

/** The rules that were given and those of the run whose ids are free. One that is none is a problem. */
export function withStoredRules(
  own: OwnRules,
  events: EventColumns,
  report: (problem: RuleProblem) => void,
): OwnRules {
  const stored = storedList(events);
  if (stored.length === 0) return own;
  const taken = new Set(rulesWith(own).map(({ id }) => id));
  const declared = stored.slice(0, MAX_STORED).flatMap((rule, at) => {
    try {
      const [one] = checkOwnRules(`rule ${at + 1} of the run`, [rule as DeclaredRule]).declared;
      if (one === undefined || taken.has(one.id)) return [];
      taken.add(one.id);
      return [one];
    } catch (error) {
      report({ ruleId: 'stored_rule', reason: 'refused', message: messageOf(error) });
      return [];
    }
  });
  return { coded: own.coded, declared: [...own.declared, ...declared] };
}

function storedList(events: EventColumns): readonly unknown[] {
  const payload: unknown = JSON.parse(lastPayload(events) ?? 'null');
  const rules: unknown =
    typeof payload === 'object' && payload !== null ? Reflect.get(payload, 'rules') : undefined;
  // Functions cannot come with a run; what claims to have one is no rule either.
  return Array.isArray(rules)
    ? rules.map((rule: unknown) =>
        typeof rule === 'object' && rule !== null && 'evaluate' in rule ? null : rule,
      )
    : [];
}

function lastPayload({ eventTypes, payloads }: EventColumns): string | undefined {
  const row = eventTypes.lastIndexOf(RULES_EVENT);
  return row < 0 ? undefined : payloads[row];
}
