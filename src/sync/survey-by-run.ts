/** The overview of a local store, run by run. */
import type { StoreSurvey, StreamState } from '../store/store.ts';

/** What the overview says of one run. */
export type FoundRun = {
  readonly status: string;
  readonly revision: number;
  readonly streams: readonly StreamState[];
};

/** The overview by run. */
export function surveyByRun({ runs, streams }: StoreSurvey): ReadonlyMap<string, FoundRun> {
  const found = new Map<string, FoundRun & { readonly streams: StreamState[] }>();
  for (const { id, revision, status } of runs) found.set(id, { status, revision, streams: [] });
  for (const stream of streams) found.get(stream.runId)?.streams.push(stream);
  return found;
}
