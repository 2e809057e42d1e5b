/** What the analyzers find in a run and in its batches: computed in a worker, wherever the run is. */
import {
  openRun,
  type AskedRoles,
  type AlertRecord,
  type HealthScoreRecord,
  type PhaseRecord,
  type RoleName,
  type Store,
} from 'quark-sdk';
import {
  analyzerConfigOf,
  AnalyzerEngine,
  audibleAlerts,
  checkQuarkConfig,
  configForRun,
  findHardBatches,
  groupAlerts,
  loadRunColumns,
  PhaseAnalyzer,
  report,
  ROLE_NOUNS,
  silenceOf,
  sayJudgedWith,
  sayRoles,
  sayVerdict,
  type AlertGroup,
  type AnalyzerEngineConfig,
  type HardBatches,
  type RunReport,
  type Silence,
} from 'quark-sdk/analysis';

/** The roles that a person may say, in the order in which they are listed. */
const ROLES = [
  'trainLoss',
  'valLoss',
  'trainAccuracy',
  'valAccuracy',
  'reward',
] as const satisfies readonly RoleName[];

type Fields<T> = Omit<T, 'toDict'>;

/** Phases, alerts and scores of a run. */
export type RunAnalysis = {
  /** Alerts that nobody has silenced, by their causes, the worst first. */
  readonly groups: readonly AlertGroup<Fields<AlertRecord>>[];
  /** The run in a line or two: what was not assessed or its health, then what to check first. */
  readonly verdict: readonly string[];
  /** The metrics that the run was judged by, and how sure each is; empty where there is none. */
  readonly judgedBy: string;
  /** The thresholds that are not the defaults, and what else the run was judged with; empty for the defaults. */
  readonly judgedWith: string;
  /** The metric that plays each role, in the order of the roles; null where none does. */
  readonly played: readonly {
    readonly role: RoleName;
    /** What people call the role. */
    readonly noun: string;
    readonly key: string | null;
  }[];
  /** Roles that somebody gave to metrics of the run. */
  readonly askedRoles: AskedRoles;
  readonly metricKeys: readonly string[];
  /** The silenced ones. */
  readonly silenced: readonly AlertGroup<Fields<AlertRecord>>[];
  /** What was said of alerts, by the id of the alert. */
  readonly silences: ReadonlyMap<string, Silence>;
  /** Rules of one's own that could not be judged, each in a sentence. */
  readonly problems: readonly string[];
  readonly healthScores: readonly Fields<HealthScoreRecord>[];
  readonly phases: readonly Fields<PhaseRecord>[];
  /** What the steps of phases are. */
  readonly phaseAxis: 'step' | 'epoch';
};

/** What an analysis stored about steps of a run. */
export type RunFindings = Pick<RunAnalysis, 'phases' | 'phaseAxis'> & {
  /** Alerts that nobody has silenced, in the order in which they were stored. */
  readonly alerts: readonly Pick<
    AlertRecord,
    'fact' | 'id' | 'ruleId' | 'severity' | 'stepStart' | 'title'
  >[];
};

/** Reads the stored alerts and phases of a run; nothing is computed. */
export async function readFindings(store: Store, runId: string): Promise<RunFindings> {
  const reader = await openRun(store, runId);
  const engine = new AnalyzerEngine(reader);
  const [alerts, silences, phases] = await Promise.all([
    engine.readAlerts(),
    engine.readSilences(),
    new PhaseAnalyzer(reader).readPhases(),
  ]);
  const nowMs = Date.now();
  const heard = alerts.filter((alert) => silenceOf(alert, silences, nowMs)?.kind !== 'silence');
  return {
    alerts: heard.map(({ fact, id, ruleId, severity, stepStart, title }) => ({
      fact,
      id,
      ruleId,
      severity,
      stepStart,
      title,
    })),
    phases: phases.map(fieldsOf).toSorted((a, b) => a.stepStart - b.stepStart),
    phaseAxis: phaseAxisOf(phases),
  };
}

/**
 * Analyses a run; nothing is written.
 *
 * @param given the content of a `quark.config.json`; undefined for none
 * @throws {QuarkError} `invalid_input` naming what is wrong in it
 */
export async function analyzeRun(
  store: Store,
  runId: string,
  given: unknown,
): Promise<RunAnalysis> {
  const reader = await openRun(store, runId);
  const columns = await loadRunColumns(reader);
  const config = judgingWith(given, columns.metrics.keys());
  const options = { persist: false, columns };
  const { phases } = await new PhaseAnalyzer(reader, { analyzer: config }).analyze(options);
  const engine = new AnalyzerEngine(reader, config);
  const result = await engine.analyze(options);
  const { alerts, healthScores, judgedWith, problems, roles, silenced } = result;
  const silences = new Map(silenced.map(({ alert, silence }) => [alert.id, silence]));
  const heard = audibleAlerts(alerts, silenced);
  const quiet = alerts.filter((alert) => !heard.includes(alert));
  return {
    groups: groupAlerts(heard.map(fieldsOf)),
    silenced: groupAlerts(quiet.map(fieldsOf)),
    verdict: sayVerdict({
      alerts: heard,
      healthScores,
      phases,
      silencedTitles: quiet.map(({ title }) => title),
    }),
    judgedBy: sayRoles(roles),
    judgedWith: sayJudgedWith(judgedWith),
    played: ROLES.map((role) => ({
      role,
      noun: ROLE_NOUNS[role],
      key: roles[role]?.series.key ?? null,
    })),
    askedRoles: columns.run.roles,
    metricKeys: [...columns.metrics.keys()].toSorted(),
    silences,
    problems: problems.map(({ message }) => message),
    healthScores: healthScores.map(fieldsOf),
    phases: phases.map(fieldsOf),
    phaseAxis: phaseAxisOf(phases),
  };
}

/** @throws {QuarkError} `invalid_input` naming what is wrong in the configuration */
function judgingWith(given: unknown, keys: Iterable<string>): AnalyzerEngineConfig {
  const project = given === undefined ? {} : analyzerConfigOf(checkQuarkConfig(given));
  return configForRun(project, keys);
}

/** The report of a run, as `quark report` writes it; nothing is stored. @throws as {@link analyzeRun} */
export async function reportRun(store: Store, runId: string, given: unknown): Promise<RunReport> {
  const reader = await openRun(store, runId);
  const { name, projectName } = reader.run;
  return report(reader, {
    ...(name === null ? {} : { title: `${projectName}: ${name}` }),
    analyzer: judgingWith(given, await reader.metricKeys()),
  });
}

/** A record without its function, which no message can carry. */
function fieldsOf<T extends object>(record: T): Fields<T> {
  return { ...record };
}

/** What the steps of phases are: the first item of the evidence of a phase says it. */
function phaseAxisOf([phase]: readonly PhaseRecord[]): RunAnalysis['phaseAxis'] {
  const evidence = phase?.evidence;
  const first: unknown = Array.isArray(evidence) ? evidence[0] : undefined;
  const metadata: unknown =
    typeof first === 'object' && first !== null ? Reflect.get(first, 'metadata') : undefined;
  const axis: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'axis') : undefined;
  return axis === 'epoch' ? 'epoch' : 'step';
}

/** What the analysis finds in the batches of a run, as a message can carry it. */
export type BatchFindings = Omit<HardBatches, 'toDict'>;

/** Reads the metrics and the batches of a run and judges them; nothing is written. */
export async function findBatches(store: Store, runId: string): Promise<BatchFindings> {
  const columns = await loadRunColumns(await openRun(store, runId), {
    layers: false,
    parameters: false,
    telemetry: false,
    events: false,
  });
  const { toDict: _, ...found } = findHardBatches(columns);
  return found;
}
