/**
 * Run documents on two sides. What changed on one side since both were equal is taken from there; what changed on both is
 * settled by the rules below, so that nothing a person did is lost: two clients may have resumed one run, and a run may
 * have ended while the service was away.
 */
import { canonicalJson, type JsonObject } from '../base/json.ts';
import { sha256OfText } from '../base/sha256.ts';
import { joinSummaries } from '../records/metric-summaries.ts';
import { generationOf } from '../records/shapes/run.ts';
import { withArchived } from '../store/run-rules.ts';
import type { StoredRun } from '../store/store.ts';

/** A run without its revision, which each side counts for itself. */
export type RunForm = Omit<StoredRun, 'revision'>;

type JsonMap = Readonly<Record<string, unknown>>;

/** What one side has to say where both changed the status. */
export type Liveness = {
  readonly isLocalLive: boolean;
  readonly isRemoteLive: boolean;
  /** Whether a session elsewhere has taken the run over: sessions here have no say any more. */
  readonly isTakenOver?: boolean;
};

/**
 * The run as the service keeps it: its project has the id that it has there, and its folder is named without the path of
 * this machine.
 */
export function toRemoteForm(run: RunForm, projectId: string): RunForm {
  return withFields(run, projectId, `runs/${run.id}`);
}

/** A run of the service as this store keeps it. */
export function toLocalForm(run: RunForm, projectId: string, runPath: string): RunForm {
  return withFields(run, projectId, runPath);
}

/** Three versions into one. Without a base, what is here counts as changed. */
export function mergeRuns(
  base: RunForm | undefined,
  local: RunForm,
  remote: RunForm,
  live: Liveness,
): RunForm {
  const localDocument = parseDocument(local.document);
  const remoteDocument = parseDocument(remote.document);
  const baseDocument = parseDocument(base?.document ?? remote.document);
  const statusSide = winnerOf(base?.status ?? remote.status, local, remote, live);
  const winner = statusSide === 'local' ? local : remote;
  const merged: RunForm = {
    ...local,
    projectName: pick(base?.projectName, local.projectName, remote.projectName),
    startedAtMs: pick(base?.startedAtMs, local.startedAtMs, remote.startedAtMs),
    status: winner.status,
    tags: mergeTags((base ?? remote).tags, local.tags, remote.tags),
  };
  if (localDocument === undefined || remoteDocument === undefined || baseDocument === undefined)
    return { ...merged, document: winner.document };
  const document: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(localDocument), ...Object.keys(remoteDocument)])) {
    const [before, mine, theirs] = [baseDocument[key], localDocument[key], remoteDocument[key]];
    // What both sides changed of a run that was taken over is as the session there says.
    const theirsWins = live.isTakenOver === true && key !== 'tags' && !isSame(before, theirs);
    const value = theirsWins ? theirs : mergeField(key, before, mine, theirs);
    if (value !== undefined) document[key] = value;
  }
  const winning = statusSide === 'local' ? localDocument : remoteDocument;
  for (const key of ['status', 'ended_at', 'status_reason']) {
    if (winning[key] === undefined) delete document[key];
    else document[key] = winning[key];
  }
  const { configHash: _hash, configRevision: _revision, ...rest } = merged;
  return { ...rest, ...configOf(document, local, remote), document: JSON.stringify(document) };
}

/** The hash of the merged configuration; one that neither side had is counted by the stores. */
function configOf(
  document: JsonMap,
  local: RunForm,
  remote: RunForm,
): Pick<RunForm, 'configHash' | 'configRevision'> {
  if (local.configHash === undefined && remote.configHash === undefined) return {};
  const { config } = document;
  const configHash = sha256OfText(canonicalJson(isJsonObject(config) ? config : {}));
  const known = [local, remote].find((side) => side.configHash === configHash);
  const configRevision = known?.configRevision;
  return { configHash, ...(configRevision === undefined ? {} : { configRevision }) };
}

/** Whether two forms of a run say the same, the generation included. */
export function areSameRuns(a: RunForm, b: RunForm): boolean {
  return (
    a.status === b.status &&
    a.projectId === b.projectId &&
    a.projectName === b.projectName &&
    a.startedAtMs === b.startedAtMs &&
    generationOf(a) === generationOf(b) &&
    isSame(a.tags, b.tags) &&
    (a.document === b.document || isSame(parseDocument(a.document), parseDocument(b.document)))
  );
}

/**
 * Whose status counts. Where both changed it, the side on which a session is at work: the run is still going on. Else the
 * one that ended it, and of two ends the later one.
 */
function winnerOf(
  base: string,
  local: RunForm,
  remote: RunForm,
  { isLocalLive, isRemoteLive, isTakenOver }: Liveness,
): 'local' | 'remote' {
  if (isTakenOver === true) return 'remote';
  if (local.status === remote.status) return endOf(local) >= endOf(remote) ? 'local' : 'remote';
  // A live session here wrote the status, even where another client ended the run meanwhile.
  if (isLocalLive && local.status === 'running') return 'local';
  if (remote.status === base) return 'local';
  if (local.status === base) return 'remote';
  if (isRemoteLive && remote.status === 'running') return 'remote';
  if (remote.status === 'running') return 'local';
  if (local.status === 'running') return 'remote';
  return endOf(local) >= endOf(remote) ? 'local' : 'remote';
}

function endOf(run: RunForm): number {
  const ended = parseDocument(run.document)?.['ended_at'];
  return typeof ended === 'string' ? Date.parse(ended) || 0 : 0;
}

function mergeField(key: string, base: unknown, local: unknown, remote: unknown): unknown {
  if (isSame(local, remote)) return local;
  if (key === 'tags' || key === 'groups') {
    // A document leaves out groups where there are none.
    const [before, mine, theirs] = [base ?? [], local ?? [], remote ?? []];
    if (isTextList(before) && isTextList(mine) && isTextList(theirs))
      return mergeTags(before, mine, theirs);
  }
  if (key === 'metric_summaries' && isJsonObject(local) && isJsonObject(remote))
    return joinSummaries(local, remote);
  if (MERGED_BY_NAME.has(key)) return mergeByName(base, local, remote);
  if (key === 'resume_count' && typeof local === 'number' && typeof remote === 'number')
    return Math.max(local, remote);
  if (key === 'updated_at' && typeof local === 'string' && typeof remote === 'string')
    return local > remote ? local : remote;
  return pick(base, local, remote);
}

/** Objects of which each side may have changed other values than the other one. */
const MERGED_BY_NAME: ReadonlySet<string> = new Set(['config', 'metadata', 'summary']);

function mergeByName(base: unknown, local: unknown, remote: unknown): unknown {
  if (isSame(local, remote) || !isJsonObject(local) || !isJsonObject(remote))
    return isSame(local, remote) ? local : pick(base, local, remote);
  const before = isJsonObject(base) ? base : undefined;
  const merged = new Map<string, unknown>();
  for (const name of new Set([...Object.keys(local), ...Object.keys(remote)])) {
    const value = mergeByName(before?.[name], local[name], remote[name]);
    if (value !== undefined) merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** What was added on either side is there, what was taken off on either side is not. */
function mergeTags(
  base: readonly string[],
  local: readonly string[],
  remote: readonly string[],
): readonly string[] {
  const all = new Set([...local, ...remote]);
  return [...all].filter(
    (tag) => !base.includes(tag) || (local.includes(tag) && remote.includes(tag)),
  );
}

function pick<T>(base: T | undefined, local: T, remote: T): T {
  return base !== undefined && isSame(base, local) ? remote : local;
}

function withFields(run: RunForm, projectId: string, runPath: string): RunForm {
  const parsed = parseDocument(run.document);
  let { document } = run;
  if (parsed !== undefined && ('project_id' in parsed || 'run_path' in parsed)) {
    document = JSON.stringify({
      ...parsed,
      ...('project_id' in parsed ? { project_id: projectId } : {}),
      ...('run_path' in parsed ? { run_path: runPath } : {}),
    });
  }
  return { ...formOf(run), projectId, document };
}

/** The same form under another generation; the first is not written down. */
export function withGeneration(form: RunForm, generation: number): RunForm {
  const { generation: _other, ...rest } = form;
  return generation === 1 ? rest : { ...rest, generation };
}

/** A run without its revision. */
export function formOf(run: RunForm): RunForm {
  const { document, id, projectId, projectName, startedAtMs, status, tags } = run;
  const { configHash, configRevision } = run;
  const form = {
    id,
    projectId,
    projectName,
    status,
    startedAtMs,
    tags,
    document,
    ...(configHash === undefined ? {} : { configHash }),
    ...(configRevision === undefined ? {} : { configRevision }),
  };
  return withArchived(withGeneration(form, generationOf(run)), run.archivedAtMs);
}

function parseDocument(text: string): JsonMap | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonMap)
      : undefined;
  } catch {
    return undefined;
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(Reflect.get(a, key), Reflect.get(b, key)))
  );
}
