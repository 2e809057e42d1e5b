// What the package is made of: names, imports, size, types. None of this runs a browser.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { undocumentedNames } from '../../scripts/check-docs.mjs';
import { unreachableTypes } from '../../scripts/named-types.mjs';
import { BROWSER_ENTRIES, ENTRIES, subpathsOf } from '../../scripts/entries.mjs';
import {
  CORE_BUDGET_BYTES,
  SERVICE_BUDGET_BYTES,
  closureOf,
  importsOf,
  sharesOf,
  UNPACK_BUDGET_BYTES,
  transferBytes,
} from '../../scripts/size.mjs';
import { Consumer, DIST, REPOSITORY, packTarball } from './consumer.ts';
import { casesOf, longTest } from '../support/long.ts';

let tarball: string;

beforeAll(() => {
  tarball = packTarball();
});

afterAll(() => {
  rmSync(dirname(tarball), { recursive: true, force: true });
});

const BROWSER_FILES = [
  ...BROWSER_ENTRIES,
  'worker',
  'series-worker',
  'watch-worker',
  'opfs-worker',
];

describe('import graph', () => {
  test.each(BROWSER_FILES)('%s needs nothing that a page would have to resolve', (name) => {
    expect(closureOf(join(DIST, `${name}.js`)).bare).toEqual([]);
  });

  test('the browser entries never reach the Node entry', () => {
    const files = BROWSER_FILES.flatMap((name) => closureOf(join(DIST, `${name}.js`)).files);
    const names = files.map((file) => relative(DIST, file));
    expect(names).not.toContain('node.js');
    expect(names).not.toContain('node-platform.js');
    expect(names).not.toContain('cli.js');
    const computed = [...new Set(files)].filter((file) => importsOf(file).computedImports > 0);
    // A part that could not be fetched is asked for under another address.
    expect(computed.map((file) => relative(DIST, file))).toEqual([
      expect.stringMatching(/^chunk-start-.+\.js$/),
    ]);
  });

  test.each([
    ['worker.js', 'index.js', 'inline-worker'],
    ['series-worker.js', 'analysis.js', 'inline-series-worker'],
    ['watch-worker.js', 'analysis.js', 'inline-watch-worker'],
    ['opfs-worker.js', 'index.js', 'inline-opfs-worker'],
    ['service-worker.js', 'service.js', 'inline-service-worker'],
    ['merge-worker.js', 'node-platform.js', 'inline-merge-worker'],
  ])('%s is one file, and the text that %s carries the same', async (worker, entry, chunk) => {
    const { files } = closureOf(join(DIST, worker));
    expect(files).toHaveLength(1);
    const carried = closureOf(join(DIST, entry)).files.find((file) => file.includes(chunk));
    const exported = (await import(pathToFileURL(carried ?? '').href)) as Record<string, unknown>;
    const text = readFileSync(join(DIST, worker), 'utf8');
    expect(text.trimEnd()).toBe(
      String(Object.values(exported).find((value) => typeof value === 'string')).trimEnd(),
    );
  });

  test('WebAssembly is carried once, by the thread that compiles it', () => {
    const count = (file: string): number =>
      readFileSync(file, 'utf8').match(/[\w+/]{1000,}/g)?.length ?? 0;
    for (const [entry, modules] of [
      ['index.js', 3], // that for relaxed SIMD, and that which unpacks segments, are in files of their own
      ['analysis.js', 3], // the worker of a watch unpacks segments by itself
    ] as const) {
      const { files } = closureOf(join(DIST, entry));
      const counts = files.map((file) => count(file));
      expect(
        counts.filter((found) => found > 0),
        entry,
      ).toEqual(Array.from({ length: modules }, () => 1));
    }
    expect(count(join(DIST, 'worker.js'))).toBe(0);
    expect(count(join(DIST, 'series-worker.js'))).toBe(0);
    expect(count(join(DIST, 'watch-worker.js'))).toBe(1);
  });

  test('the core carries nothing of the series kernels, nor they of the tensor kernels', () => {
    const sourcesOf = (entry: string): string[] =>
      closureOf(join(DIST, entry)).files.flatMap((file) =>
        existsSync(`${file}.map`)
          ? (JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { sources: string[] }).sources
          : [],
      );
    const core = sourcesOf('index.js').filter((source) => source.includes('src/kernel/'));
    const analysis = sourcesOf('analysis.js').filter((source) => source.includes('src/kernel/'));
    expect(core).toContainEqual(expect.stringContaining('/pool.ts'));
    expect(core.filter((source) => source.includes('/series/'))).toEqual([]);
    expect(analysis).toContainEqual(expect.stringContaining('/pool.ts'));
    expect(analysis.filter((source) => /wasm-kernel|kernel\/wasm/.test(source))).toEqual([]);
    const texts = closureOf(join(DIST, 'index.js')).files.map((file) => readFileSync(file, 'utf8'));
    expect(texts.filter((text) => /(?:series|watch)-worker/.test(text))).toEqual([]);
  });

  longTest('packages that are bundled into the browser entries', () => {
    const packages = new Set<string>();
    for (const name of BROWSER_ENTRIES) {
      for (const file of closureOf(join(DIST, `${name}.js`)).files) {
        if (!existsSync(`${file}.map`)) continue; // text only: the carried worker, whose map is worker.js.map
        const map = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { sources: string[] };
        for (const source of map.sources) {
          const found = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
          if (found) packages.add(found);
        }
      }
    }
    expect([...packages].toSorted()).toMatchInlineSnapshot(`
      [
        "@noble/hashes",
        "comlink",
        "fzstd",
        "hyparquet",
        "hyparquet-compressors",
        "hysnappy",
        "idb",
      ]
    `);
    const licences = readFileSync(join(DIST, 'third-party-licenses.md'), 'utf8');
    for (const name of packages) expect(licences).toContain(`\n## ${name} - `);
  });

  test('the Node entries import Node and optional peers only', () => {
    const { peerDependencies } = JSON.parse(
      readFileSync(join(REPOSITORY, 'package.json'), 'utf8'),
    ) as Record<'peerDependencies', Record<string, string>>;
    const declared = Object.keys(peerDependencies);
    for (const name of ['node', 'service', 'cli']) {
      const { bare } = closureOf(join(DIST, `${name}.js`));
      const packages = bare.filter((specifier) => !specifier.startsWith('node:'));
      for (const specifier of packages) {
        const owner = specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/');
        expect(declared, name).toContain(owner);
      }
    }
  });
});

async function namesOf(entry: string): Promise<string[]> {
  const url = pathToFileURL(join(DIST, `${entry}.js`)).href;
  return Object.keys((await import(url)) as object).toSorted();
}

describe('exported names', () => {
  test('quark-sdk', async () => {
    expect(await namesOf('index')).toMatchInlineSnapshot(`
      [
        "AGGREGATE_KINDS",
        "ALERT_CATEGORIES",
        "ALERT_SEVERITIES",
        "ARTIFACT_PAYLOAD_FORMATS",
        "BoundMetrics",
        "CURRENT_SCHEMA_VERSION",
        "DEFAULT_EVENT_SEVERITIES",
        "DEFAULT_HISTOGRAM_BINS",
        "DEFAULT_KEEP_UNNAMED_MS",
        "DEFAULT_KERNELS_CONFIG",
        "DEFAULT_WRITER_OPTIONS",
        "ERROR_CODES",
        "EVENT_SEVERITIES",
        "EventLogger",
        "HEALTH_SCORE_KEYS",
        "HEALTH_STATUSES",
        "HISTOGRAM_SCALES",
        "HOOK_DIRECTIONS",
        "InvalidRunStateError",
        "LAYER_SUMMARY_TYPES",
        "LOG_IDENTIFIERS",
        "MAX_HISTOGRAM_BINS",
        "MAX_UNITS",
        "MetricRecord",
        "MetricsLogger",
        "NON_FINITE_POLICIES",
        "PARAMETER_DISTRIBUTION_TYPES",
        "PARAMETER_ROLES",
        "PHASE_NAMES",
        "QuarkError",
        "RUN_STATUSES",
        "RunContext",
        "RunNotFoundError",
        "RunReader",
        "STORE_FAILURE_REASONS",
        "SchemaMigrationError",
        "SchemaValidationError",
        "SessionStoreError",
        "TELEMETRY_BOUNDARIES",
        "TERMINAL_RUN_STATUSES",
        "TrainingSession",
        "VERSION",
        "addLog",
        "addTag",
        "archiveRun",
        "configurePersistence",
        "createKernels",
        "createMemoryStore",
        "defaultSeverity",
        "deleteArtifact",
        "deleteProject",
        "deleteRun",
        "deleteTable",
        "describeDamage",
        "dumpRecord",
        "editRun",
        "endRun",
        "findRuns",
        "hasTimes",
        "histogramEdges",
        "inactiveUnits",
        "isQuarkError",
        "isStoreError",
        "listDeletedRuns",
        "listRuns",
        "mergeHistograms",
        "mergeTensorPairStats",
        "mergeTensorStats",
        "mergeTensorUnitStats",
        "migrateStore",
        "openRun",
        "openStorage",
        "openSync",
        "registerStorage",
        "restoreRun",
        "resumeRun",
        "runSize",
        "startRun",
        "sweepBlobs",
        "toArrowTable",
        "validateRecord",
      ]
    `);
  });
  test('quark-sdk/node', async () => {
    expect(await namesOf('node')).toMatchInlineSnapshot(`
      [
        "RETENTION_ACTS",
        "applyRetention",
        "backupStore",
        "backupTombstones",
        "checkRetention",
        "describeRule",
        "examineService",
        "examineStore",
        "listBackups",
        "loadQuarkConfig",
        "nodePlatform",
        "openFileStorage",
        "openInputFiles",
        "openPostgresStorage",
        "openSync",
        "parseRetention",
        "planRetention",
        "pruneBackup",
        "queryRuns",
        "readDownsampling",
        "readRetention",
        "restoreBackup",
        "saveRetention",
        "serveStore",
        "startProfiler",
        "verifyBackup",
        "verifySync",
      ]
    `);
  });
  test('quark-sdk/service', async () => {
    expect(await namesOf('service')).toMatchInlineSnapshot(`
      [
        "AUDIT_ACTIONS",
        "DEFAULT_SERVICE_LIMITS",
        "KEY_SCOPES",
        "LOG_LEVELS",
        "QUOTA_RESOURCES",
        "ServiceAccess",
        "amountText",
        "createService",
        "createServiceLog",
        "openAccess",
        "openMachineLog",
        "openServiceAccess",
        "s3OptionsFromEnvironment",
        "serveService",
      ]
    `);
  });
  test('quark-sdk/analysis', async () => {
    expect(await namesOf('analysis')).toMatchInlineSnapshot(`
      [
        "ALIGN_FILLS",
        "ALIGN_JOINS",
        "AUTOCORRELATION_CHOICES",
        "AlertWatch",
        "AnalyzerEngine",
        "BAND_KINDS",
        "CHANGE_LOSSES",
        "CHANGE_MODELS",
        "COMPATIBILITIES",
        "CONVENTIONAL_ROLE_KEYS",
        "ComparisonEngine",
        "DEFAULT_ANALYZER_ENGINE_CONFIG",
        "DEFAULT_ANALYZER_THRESHOLDS",
        "DEFAULT_METRIC_KEYS",
        "DEFAULT_PHASE_ANALYZER_THRESHOLDS",
        "IMPORTANCE_METHODS",
        "LAYER_NUMBERS",
        "LIVE_CADENCES",
        "METRIC_DIRECTIONS",
        "METRIC_STATISTICS",
        "MIN_IMPORTANCE_RUNS",
        "NORMAL_MAD_SCALE",
        "OUTLIER_METHODS",
        "OUTLIER_SIDES",
        "PARAMETER_NUMBERS",
        "PHASE_DISPLAY_NAMES",
        "PRESENCES",
        "PhaseAnalyzer",
        "QUANTILE_METHODS",
        "QuantileSketch",
        "ROLE_NOUNS",
        "RULE_IDS",
        "RUN_GROUPINGS",
        "SEVERITY_FACTORS",
        "SPIKE_DIRECTIONS",
        "STATUS_LIMITS",
        "SeriesPyramid",
        "TARGET_DIRECTIONS",
        "TELEMETRY_NUMBERS",
        "WATCH_ACTIONS",
        "alertIdentity",
        "analyzeColumns",
        "analyzePhases",
        "analyzerConfigOf",
        "audibleAlerts",
        "axisOf",
        "bandOfCurves",
        "checkQuarkConfig",
        "compareColumnGroups",
        "compareColumns",
        "compareSettings",
        "compareValues",
        "configForRun",
        "configImportance",
        "createBatchColumns",
        "createMetricSeries",
        "createRunColumns",
        "createSeriesKernels",
        "defineRule",
        "describeRules",
        "evidenceOf",
        "findHardBatches",
        "findPhases",
        "findRoleSeries",
        "findRoles",
        "groupAlerts",
        "groupRuns",
        "jsSeriesKernel",
        "loadRunColumns",
        "loadSeriesKernel",
        "metricQuantity",
        "paretoFront",
        "parseQuarkConfig",
        "quarkConfigSchema",
        "readDownsampling",
        "report",
        "runQuantity",
        "sayJudgedWith",
        "sayRoles",
        "sayVerdict",
        "settingQuantity",
        "silenceOf",
        "summarizedMetrics",
        "tabulateHardBatches",
        "varyingSettings",
        "writtenReportHtml",
        "writtenReportMarkdown",
      ]
    `);
  });
  test('quark-sdk/store/testing', async () => {
    expect(await namesOf('store/testing')).toMatchInlineSnapshot(`
      [
        "testStore",
      ]
    `);
  });
  test('quark-sdk/tracker', async () => {
    expect(await namesOf('tracker')).toMatchInlineSnapshot(`
      [
        "LiveMirror",
        "TRACKER_PROVIDERS",
        "finishMirror",
        "functionSink",
        "lineSink",
        "mirrorRun",
        "mlflowSink",
        "openTracker",
        "tensorBoardSink",
      ]
    `);
  });
  test('quark-sdk/workspace', async () => {
    expect(await namesOf('workspace')).toMatchInlineSnapshot(`
      [
        "CHART_MARK_KINDS",
        "DEFAULT_CHART_CHOICES",
        "DEFAULT_CHART_SETTINGS",
        "DOCUMENT_VISIBILITIES",
        "FORMULA_FUNCTIONS",
        "MAX_DOCUMENT_BYTES",
        "MAX_FORMULA_CHARS",
        "MAX_PROJECT_DOCUMENTS",
        "MAX_SMOOTHING",
        "REPORT_LIMITS",
        "REPORT_UNDO_MS",
        "SMOOTHING_KINDS",
        "VIEW_LIMITS",
        "addStepNote",
        "chartSettings",
        "checkReport",
        "completeRunQuery",
        "deleteDocument",
        "deleteReport",
        "deleteView",
        "evaluateFormula",
        "findDocument",
        "findRunColumns",
        "findRunFacets",
        "findRunGroups",
        "findRunIds",
        "findRunRows",
        "formulaKey",
        "freezeReport",
        "isChartAxis",
        "levelOfChoice",
        "listDeletedReports",
        "listDocuments",
        "listReports",
        "listViews",
        "lossMetric",
        "metricSearch",
        "parseFormula",
        "parseMarkdown",
        "parseRunQuery",
        "putDocument",
        "readReport",
        "readReportCurves",
        "readReportRows",
        "readSparklines",
        "readView",
        "removeStepNote",
        "restoreReport",
        "runEnding",
        "saveReport",
        "saveView",
        "setDefaultView",
        "stepNotesOf",
        "viewFromJson",
        "viewToJson",
      ]
    `);
  });
  test('quark-sdk/probes', async () => {
    expect(await namesOf('probes')).toMatchInlineSnapshot(`
      [
        "ARTIFACT_STORAGE_LAYOUT",
        "ArtifactStore",
        "DEFAULT_DATA_DIAGNOSTICS_CONFIG",
        "DEFAULT_HOOK_ENGINE_CONFIG",
        "DEFAULT_HOOK_SCHEDULE_CONFIG",
        "DEFAULT_LAYER_FILTER_CONFIG",
        "DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG",
        "DEFAULT_SYSTEM_TELEMETRY_CONFIG",
        "DataDiagnostics",
        "HARD_BATCH_REASONS",
        "HookEngine",
        "MAX_CLASSES",
        "MappingBatchMetadataAdapter",
        "ParameterDiagnostics",
        "StepTelemetryScope",
        "SystemTelemetry",
        "TELEMETRY_METRIC_KEYS",
        "loadArtifact",
        "readArtifacts",
        "readBatchDiagnostics",
        "readLayerColumns",
        "readLayerSummaries",
        "readParameterColumns",
        "readParameterDistributions",
        "readParameterSummaries",
        "readTelemetry",
        "streamArtifact",
        "summarizeBatches",
      ]
    `);
  });
  test('quark-sdk/console', async () => {
    expect(await namesOf('console')).toMatchInlineSnapshot(`
      [
        "CONSOLE_LEVELS",
        "CONSOLE_SOURCES",
        "captureConsole",
        "forwardConsole",
        "readConsole",
      ]
    `);
  });
  test('quark-sdk/media', async () => {
    expect(await namesOf('media')).toMatchInlineSnapshot(`
      [
        "MEDIA_KINDS",
        "MediaLogger",
        "compareCode",
        "describeImage",
        "loadMedia",
        "loadModel",
        "readMedia",
        "readRunCode",
      ]
    `);
  });
  test('quark-sdk/tfjs', async () => {
    expect(await namesOf('tfjs')).toMatchInlineSnapshot(`
      [
        "quarkCallback",
        "tfjsModel",
        "tfjsVariables",
      ]
    `);
  });
  test('quark-sdk/onnx', async () => {
    expect(await namesOf('onnx')).toMatchInlineSnapshot(`
      [
        "ONNX_TRAINABLE_OPS",
        "buildOnnxTraining",
        "freeOnnxBatch",
        "instrumentOnnx",
        "joinOnnxData",
        "observeOnnxSession",
        "openLegacyOnnxTraining",
        "openOnnxModel",
        "openOnnxTrainer",
        "readOnnxGraph",
      ]
    `);
  });
  test('quark-sdk/profiler', async () => {
    expect(await namesOf('profiler')).toMatchInlineSnapshot(`
      [
        "ActiveScope",
        "PEAK_SOURCES",
        "PROFILE_MEASURES",
        "ProfileStep",
        "Profiler",
        "Timers",
        "compareProfiles",
        "overheadOf",
        "profileFindings",
        "profileJson",
        "profileOutline",
        "profileTrace",
        "profileYaml",
        "profilerOf",
        "progressOf",
        "readOverhead",
        "readProfiles",
        "readProgress",
        "readTimers",
        "startProfiler",
        "stepTotals",
        "trainingTotalOf",
      ]
    `);
  });
  test('quark-sdk/kernels', async () => {
    expect(await namesOf('kernels')).toMatchInlineSnapshot(`
      [
        "ALIGN_FILLS",
        "ALIGN_JOINS",
        "AUTOCORRELATION_CHOICES",
        "CHANGE_LOSSES",
        "CHANGE_MODELS",
        "DEFAULT_HISTOGRAM_BINS",
        "DEFAULT_KERNELS_CONFIG",
        "HISTOGRAM_SCALES",
        "MAX_HISTOGRAM_BINS",
        "MAX_UNITS",
        "NORMAL_MAD_SCALE",
        "OUTLIER_METHODS",
        "OUTLIER_SIDES",
        "QUANTILE_METHODS",
        "QuantileSketch",
        "SPIKE_DIRECTIONS",
        "SeriesPyramid",
        "createKernels",
        "createSeriesKernels",
        "histogramEdges",
        "inactiveUnits",
        "jsSeriesKernel",
        "loadSeriesKernel",
        "mergeHistograms",
        "mergeTensorPairStats",
        "mergeTensorStats",
        "mergeTensorUnitStats",
      ]
    `);
  });

  test('quark-sdk/store', async () => {
    expect(await namesOf('store')).toMatchInlineSnapshot(`
      [
        "registerStorage",
      ]
    `);
  });

  test('quark-sdk/exchange', async () => {
    expect(await namesOf('exchange')).toMatchInlineSnapshot(`
      [
        "CONVENTIONAL_KEYS",
        "DEFAULT_IMPORT_LIMITS",
        "EXPORTED_DOCUMENTS",
        "FORMAT_NAMES",
        "MAX_GALLERY_RUNS",
        "TABLE_NAMES",
        "blobInput",
        "bytesInput",
        "exportEventsJsonLines",
        "exportMetricsArrow",
        "exportMetricsCsv",
        "exportMetricsJsonLines",
        "exportMlflow",
        "exportQuark",
        "exportTableArrow",
        "exportTableCsv",
        "exportTableJsonLines",
        "exportTableParquet",
        "exportTensorBoard",
        "galleryRun",
        "galleryText",
        "importRuns",
        "readGallery",
        "tensorBoardFileName",
      ]
    `);
  });
});

test('every exported name says what it is for', () => {
  expect(undocumentedNames()).toEqual([]);
});

test('every type that a public signature names can be imported', () => {
  expect(unreachableTypes()).toEqual([]);
});

test('the lock file names the binaries of every platform', () => {
  // npm leaves out what its registry does not have at that moment, and "npm ci" then refuses the whole file.
  const { packages } = JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const wanted = Object.values(packages).flatMap((found) =>
    Object.keys(found.optionalDependencies ?? {}),
  );
  const locked = new Set(
    Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')),
  );
  expect(wanted.filter((name) => !locked.has(name))).toEqual([]);
});

test('the core stays within its size budget', () => {
  const { own, service, unpack } = sharesOf(join(DIST, 'index.js'));
  expect(transferBytes(own)).toBeLessThanOrEqual(CORE_BUDGET_BYTES);
  expect(service.length).toBeGreaterThan(1);
  expect(transferBytes(service)).toBeLessThanOrEqual(SERVICE_BUDGET_BYTES);
  expect(unpack).toHaveLength(2);
  expect(transferBytes(unpack)).toBeLessThanOrEqual(UNPACK_BUDGET_BYTES);
});

test('importing an entry does nothing', () => {
  const project = new Consumer(tarball, {
    'main.js': `
      const before = Object.keys(globalThis);
      for (const name of ${JSON.stringify(subpathsOf(ENTRIES))}) await import('quark-sdk' + name);
      console.log(JSON.stringify(Object.keys(globalThis).filter((name) => !before.includes(name))));
    `,
  });
  try {
    expect(project.run('main.js')).toEqual([]);
  } finally {
    project.remove();
  }
});

test('publint has nothing to say', async () => {
  const project = new Consumer(tarball, {});
  try {
    const pkgDir = join(project.root, 'node_modules/quark-sdk');
    const { messages, pkg } = await publint({ pkgDir, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
  } finally {
    project.remove();
  }
});

longTest('the types resolve in every way TypeScript resolves', () => {
  const attw = join(REPOSITORY, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  // `require` gives an ES module, on purpose (decision 113). The command's exit code leaves the rule out, its JSON does not.
  const rules = ['--ignore-rules', 'cjs-resolves-to-esm'];
  const args = [attw, tarball, ...rules, '--no-definitely-typed', '--no-color'];
  const ended = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(ended.status, ended.stdout).toBe(0);
  expect(ended.stdout).toContain('"quark-sdk/exchange"');
});

describe('a strict TypeScript user', () => {
  // `npm run types:matrix` has the other compilers, platforms and ways of finding modules.
  test.each(
    casesOf<[string, string, string[]]>(
      [
        ['nodenext', 'nodenext', ['DOM']],
        ['esnext', 'bundler', []],
      ],
      1,
    ),
  )('--module %s --moduleResolution %s --lib %s', (module, moduleResolution, lib) => {
    const project = new Consumer(tarball, {
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          module,
          moduleResolution,
          target: 'es2022',
          lib: ['ES2022', ...lib],
          types: [],
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: false,
          noEmit: true,
        },
        files: ['main.ts'],
      }),
      'main.ts': `
        import { MetricsLogger, TrainingSession } from 'quark-sdk';
        import { createSeriesKernels, type SeriesKernels } from 'quark-sdk/analysis';
        import * as probes from 'quark-sdk/probes';
        import * as tfjs from 'quark-sdk/tfjs';
        import * as onnx from 'quark-sdk/onnx';
        import * as exchange from 'quark-sdk/exchange';
        import * as capture from 'quark-sdk/console';
        import * as media from 'quark-sdk/media';
        import * as profiler from 'quark-sdk/profiler';
        import * as store from 'quark-sdk/store';
        import * as testing from 'quark-sdk/store/testing';
        import * as tracker from 'quark-sdk/tracker';
        import * as workspace from 'quark-sdk/workspace';
        const session: TrainingSession = await TrainingSession.startRun({ project: 'p' });
        new MetricsLogger(session).log('train/loss', 1, { step: 0 });
        // @ts-expect-error a value is a number
        new MetricsLogger(session).log('train/loss', '1', { step: 0 });
        export const series: SeriesKernels = await createSeriesKernels({ workers: 1 });
        // @ts-expect-error series are not cut into chunks
        await createSeriesKernels({ chunkBytes: 8192 });
        export { capture, exchange, media, onnx, probes, profiler, store, testing, tfjs };
        export { tracker, workspace };
      `,
    });
    try {
      const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
      expect(() =>
        execFileSync(process.execPath, [tsc, '--checkers', '1', '-p', project.root], {
          encoding: 'utf8',
        }),
      ).not.toThrow();
    } finally {
      project.remove();
    }
  });
});
