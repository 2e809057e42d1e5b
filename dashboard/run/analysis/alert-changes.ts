/** Silences and acknowledgements as changes of the page: said, undone, and told of. */
import type { AlertRecord, EventRecord } from 'quark-sdk';
import type { AlertGroup, Silence } from 'quark-sdk/analysis';
import type { ChangeWords, PageChange } from '../../changes/page-changes.ts';
import { t, tn } from '../../parts/t.ts';
import type { RunFeed } from '../../series/run-feed.ts';

/** A cause and what follows from it. */
export type AlertsOfCause = AlertGroup<Omit<AlertRecord, 'toDict'>>;

/** What is to be said of alerts. */
export type Saying = {
  readonly kind: Silence['kind'];
  readonly reason: string;
  readonly by: string | undefined;
  readonly until: Date | null;
  /** Whether the alerts that follow from the cause are meant, too. */
  readonly isOfAll: boolean;
};

/** Events by which something is said of alerts, or taken back. */
const SAID = /^alert_(?:silenced|acknowledged|unsilenced)$/;

/** How often something was said of the alerts of a run: it is judged again when that changes. */
export function sayingCount(events: readonly Pick<EventRecord, 'eventType'>[]): number {
  return events.filter(({ eventType }) => SAID.test(eventType)).length;
}

/** What was said of the alerts of a group, each silence once, that of the cause first. */
export function saidOf(
  { cause, consequences }: AlertsOfCause,
  silences: ReadonlyMap<string, Silence>,
): readonly Silence[] {
  return [...new Set([cause, ...consequences].flatMap(({ id }) => silences.get(id) ?? []))];
}

/**
 * Whether the alerts of a group are known, so that it is folded: the cause and everything that follows from it. What has come since the
 * acknowledgement is of another rule, layer or metric, and unfolds the group again.
 */
export function isAcknowledged(
  { cause, consequences }: AlertsOfCause,
  silences: ReadonlyMap<string, Silence>,
): boolean {
  return [cause, ...consequences].every(({ id }) => silences.get(id)?.kind === 'acknowledge');
}

/** A change that says something of the alerts of a group; undone, what was said before holds again. */
export function sayingOf(
  feed: RunFeed,
  group: AlertsOfCause,
  before: readonly Silence[],
  saying: Saying,
): PageChange {
  const isSilence = saying.kind === 'silence';
  const words: ChangeWords = {
    kind: saying.kind,
    one: (name) =>
      isSilence ? t('silenced "{name}"', { name }) : t('acknowledged "{name}"', { name }),
    many: (count) =>
      isSilence
        ? tn(count, 'silenced {count} alert', 'silenced {count} alerts')
        : tn(count, 'acknowledged {count} alert', 'acknowledged {count} alerts'),
    failed: (name) =>
      isSilence
        ? t('"{name}" was not silenced.', { name })
        : t('"{name}" was not acknowledged.', { name }),
    notUndone: (name) => t('What was said of "{name}" was not taken back.', { name }),
  };
  return {
    id: `${feed.run.id} alerts`,
    name: group.cause.title,
    words,
    make: async () => {
      const { AnalyzerEngine, alertIdentity } = await import('quark-sdk/analysis');
      const engine = new AnalyzerEngine(feed.reader);
      const { by, isOfAll, kind, reason, until } = saying;
      const abouts = distinct(
        (isOfAll ? [group.cause, ...group.consequences] : [group.cause]).map(alertIdentity),
      );
      for (const about of abouts) await engine.silence({ ...about, kind, reason, by, until });
      return async () => {
        for (const about of abouts) await engine.unsilence(about);
        for (const one of before) await engine.silence(optionsOf(one));
      };
    },
  };
}

/** A change that takes back what was said; undone, it is said again. */
export function takingBack(
  feed: RunFeed,
  group: AlertsOfCause,
  said: readonly Silence[],
): PageChange {
  return {
    id: `${feed.run.id} alerts`,
    name: group.cause.title,
    words: {
      kind: 'unsilence',
      one: (name) => t('took back what was said of "{name}"', { name }),
      many: (count) =>
        tn(
          count,
          'took back what was said of {count} alert',
          'took back what was said of {count} alerts',
        ),
      failed: (name) => t('What was said of "{name}" was not taken back.', { name }),
      notUndone: (name) => t('It was not said of "{name}" again.', { name }),
    },
    make: async () => {
      const { AnalyzerEngine } = await import('quark-sdk/analysis');
      const engine = new AnalyzerEngine(feed.reader);
      for (const { metricKey, moduleName, ruleId } of said)
        await engine.unsilence({ metricKey, moduleName, ruleId });
      return async () => {
        for (const one of said) await engine.silence(optionsOf(one));
      };
    },
  };
}

function optionsOf(silence: Silence): Omit<Silence, 'atMs'> {
  const { atMs: _, ...options } = silence;
  return options;
}

function distinct<T extends object>(all: readonly T[]): readonly T[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}
