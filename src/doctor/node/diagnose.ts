/** Examines a store, a service, or both; and repairs. */
import { join } from 'node:path';
import { checkOptionNames } from '../../base/assert.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { invalidInput, isQuarkError, messageOf } from '../../base/errors.ts';
import { listBucket } from '../../store/objects/open-objects.ts';
import type { S3Options } from '../../store/objects/s3-config.ts';
import { openSpaces } from '../../store/sql/node/open-spaces.ts';
import { acknowledge, withAcknowledged } from './acknowledged.ts';
import { checkBlobs } from './check-blobs.ts';
import { checkDatabase, judgeIndexes } from './check-database.ts';
import { checkRuns } from './check-runs.ts';
import { checkSegments } from './check-segments.ts';
import { checkService, type ServiceCheckOptions } from './check-service.ts';
import { checkDocuments } from './check-documents.ts';
import { checkLooseBlobs } from './check-loose-blobs.ts';
import { checkSketches } from './check-sketches.ts';
import { checkStreams } from './check-streams.ts';
import { checkSurroundings } from './check-surroundings.ts';
import { checkUsage } from './check-usage.ts';
import type { DoctorFinding, Report } from './finding.ts';
import { openPatient, type Patient } from './patient.ts';
import { repairFindings } from './repair.ts';

/** How a store is examined. */
export type DoctorOptions = {
  /** The bucket of a service. Default: none. */
  readonly objects?: S3Options | undefined;
  /** Makes the repairs that need no guess, then examines again. Default false. */
  readonly repairs?: boolean;
  /**
   * With `repairs`: damaged segments are moved to files in this folder, and an event of the run says so. '' is `.quark/quarantine` of
   * a store in a folder. Default: they stay, and readers report them.
   */
  readonly quarantine?: string | undefined;
  /**
   * With `repairs`: objects of blobs in the bucket that no row of the database knows and that are older than 7 days are removed. Only where
   * no other database uses the same bucket and prefix. Default false.
   */
  readonly removesLoose?: boolean;
  /**
   * Notes that rows and payloads which are gone for good are known to be: from then on such a finding is a note, until more is missing.
   * Default false.
   */
  readonly acknowledges?: boolean;
  readonly clock?: Clock;
};

/** What an examination has come to. */
export type DoctorReport = {
  readonly name: string;
  /** What is wrong; after repairs, what remains. */
  readonly findings: readonly DoctorFinding[];
  /** What was repaired. */
  readonly repaired: readonly DoctorFinding[];
  readonly segments: number;
  readonly rows: number;
  readonly segmentBytes: number;
  readonly blobs: number;
  readonly blobBytes: number;
};

/** A service has no more than this long for one answer, in milliseconds. */
const SERVICE_TIMEOUT_MS = 15_000;
const MAX_PASSES = 3;

/**
 * Opens every segment and blob of a store and compares its tables with each other. Nothing is changed unless repairs are asked
 * for. Others may use the store meanwhile.
 *
 * @param uri a folder, a `file:` URI, or the address of a PostgreSQL database
 * @throws {SessionStoreError} `missing`, `unreachable`, `unauthorised`, ...: why it could not be examined
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { examineStore } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, (session) => {
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 * });
 * const { findings, rows } = await examineStore('quark-runs'); // changes nothing
 * for (const { severity, where, message, advice } of findings) console.log(severity, where, message, advice);
 * console.log(rows > 0); // true
 * ```
 */
export async function examineStore(
  uri: string,
  options: DoctorOptions = {},
): Promise<DoctorReport> {
  let examined = await examine(uri, options);
  const repaired: DoctorFinding[] = [];
  // One repair may show what another one can repair.
  for (let pass = 0; options.repairs === true && pass < MAX_PASSES; pass++) {
    const wanted = examined.findings.filter(({ repair }) => repair !== undefined);
    const done = wanted.length === 0 ? [] : await repairOnce(uri, wanted, examined, options);
    if (done.length === 0) break;
    repaired.push(...done);
    examined = await examine(uri, options);
  }
  if (options.acknowledges === true) {
    await acknowledgeAll(uri, examined, options);
    examined = await examine(uri, options);
  }
  return { ...examined, repaired };
}

async function acknowledgeAll(
  uri: string,
  { findings, nowMs }: Examined,
  { objects }: DoctorOptions,
): Promise<void> {
  const spaces = await openSpaces(uri, { objects, create: false });
  try {
    await acknowledge(spaces, findings, nowMs);
  } finally {
    await spaces.close();
  }
}

async function repairOnce(
  uri: string,
  wanted: readonly DoctorFinding[],
  { location, nowMs }: Examined,
  { objects, quarantine, removesLoose = false }: DoctorOptions,
): Promise<readonly DoctorFinding[]> {
  const spaces = await openSpaces(uri, { objects, create: false });
  try {
    return await repairFindings(spaces, wanted, {
      nowMs,
      location,
      bucket: removesLoose && objects !== undefined ? await listBucket(objects) : undefined,
      quarantine: quarantine === '' ? quarantineOf(location) : quarantine,
    });
  } finally {
    await spaces.close();
  }
}

/**
 * Checks a service from outside, as a client meets it: whether it answers and takes requests, its version, its clock, and with a key what it
 * lists. Nothing is changed there; what is wrong is a finding, also that nobody answers.
 *
 * @param url the address of the service
 * @param options `userKey`: the key to list runs with; `timeoutMs`: for one answer, default 15,000
 * @throws {QuarkError} `invalid_input` for what is no address, or an unknown option
 * @example
 * ```js
 * import { examineService } from 'quark-sdk/node';
 * import { serveService } from 'quark-sdk/service';
 *
 * const service = await serveService({ storage: 'quark-runs' });
 * const { findings, runs } = await examineService(service.url);
 * for (const { severity, message } of findings) console.log(severity, message);
 * console.log(runs); // 0
 * await service.close();
 * ```
 */
export async function examineService(
  url: string,
  options: Partial<ServiceCheckOptions> = {},
): Promise<{ readonly findings: readonly DoctorFinding[]; readonly runs: number | undefined }> {
  if (typeof url !== 'string' || !/^https?:/.test(url) || !URL.canParse(url))
    throw invalidInput('url', url, 'an http: or https: URL');
  checkOptionNames('options', options, ['timeoutMs', 'userKey']);
  const findings: DoctorFinding[] = [];
  const timeoutMs = options.timeoutMs ?? SERVICE_TIMEOUT_MS;
  const runs = await checkService(url, { ...options, timeoutMs }, (one) => findings.push(one));
  return { findings, runs };
}

type Examined = DoctorReport & {
  readonly location: Patient['location'];
  readonly nowMs: number;
};

async function examine(
  uri: string,
  { clock = systemClock, objects }: DoctorOptions,
): Promise<Examined> {
  const findings: DoctorFinding[] = [];
  const report: Report = (finding) => void findings.push(finding);
  const nowMs = clock.now();
  const patient = await openPatient(uri, { objects });
  const counts = { segments: 0, rows: 0, segmentBytes: 0, blobs: 0, blobBytes: 0 };
  try {
    if (await checkDatabase(patient, report)) {
      await guarded(patient, report, () => checkStreams(patient, report));
      await guarded(patient, report, () => checkRuns(patient, nowMs, report));
      // What is found by a damaged index is counted wrongly.
      if (findings.every(({ code }) => code !== 'index_damaged'))
        await guarded(patient, report, () => checkUsage(patient, report));
      await guarded(patient, report, async () => {
        const { bytes, references, rows, segments } = await checkSegments(patient, report);
        Object.assign(counts, { segments, rows, segmentBytes: bytes });
        const blobs = await checkBlobs(patient, references, report);
        Object.assign(counts, { blobs: blobs.blobs, blobBytes: blobs.bytes });
      });
      await guarded(patient, report, () => checkSketches(patient, report));
      await guarded(patient, report, () => checkDocuments(patient, nowMs, report));
      await guarded(patient, report, () => checkLooseBlobs(patient, nowMs, report));
      await guarded(patient, report, () => checkSurroundings(patient, nowMs, report));
      findings.splice(0, findings.length, ...(await withAcknowledged(patient, findings)));
    }
  } finally {
    await patient.close();
  }
  const { location, name } = patient;
  return { name, findings: judgeIndexes(findings), repaired: [], ...counts, location, nowMs };
}

/** A check that fails because of damage is a finding; the others go on. */
async function guarded(
  patient: Patient,
  report: Report,
  check: () => Promise<void>,
): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!isQuarkError(error)) throw error;
    report({
      severity: 'error',
      code: 'check_failed',
      where: patient.name,
      message: `A check could not be finished: ${messageOf(error)}`,
      advice: 'Copy the store aside, then restore a backup ("quark restore").',
    });
  }
}

function quarantineOf(location: Patient['location']): string {
  if (location === undefined)
    throw invalidInput('quarantine', '', 'a folder, for a store that is not in one');
  return join(location.storeRoot, 'quarantine');
}
