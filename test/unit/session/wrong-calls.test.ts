/** Calls that somebody makes who comes from another library, or who mistypes: each error names what is right, and nothing is recorded. */
import { expect, test } from 'vitest';
import {
  createMemoryStore,
  listRuns,
  MetricsLogger,
  migrateStore,
  openRun,
  openStorage,
  resumeRun,
  startRun,
  type Store,
  type TrainingSession,
} from 'quark-sdk';

type Wrong = (metrics: never, session: TrainingSession) => unknown;

/** What is called without a type, as from JavaScript. */
const called =
  (name: 'log' | 'logMany' | 'logColumns', ...args: readonly unknown[]): Wrong =>
  (metrics) =>
    Reflect.apply(Reflect.get(metrics, name), metrics, args);

const tensor = { dataSync: () => [0.5], shape: [] };
const AT = { step: 1 };

const CALLS: readonly (readonly [what: string, call: Wrong, says: RegExp])[] = [
  ['an object of metrics', called('log', { loss: 1 }), /logMany\(\) takes \{ loss/u],
  ['an object and a step', called('log', { loss: 1 }, AT), /logMany\(\)/u],
  [
    'step, name, value',
    called('log', 1, 'loss', 0.5),
    /as in log\("loss", 0\.5, \{ step: 10 \}\)/u,
  ],
  ['value, name', called('log', 0.5, 'loss', AT), /as in log\("loss"/u],
  ['a step as third', called('log', 'loss', 0.5, 7), /such as \{ step: 7 \}; got 7/u],
  ['no position', called('log', 'loss', 0.5), /as in \{ step: 10 \}.*setStep\(\)/u],
  ['a misspelt step', called('log', 'known', 0.5, { stp: 1 }), /did you mean "step"\?/u],
  ['a tensor', called('log', 'loss', tensor, AT), /\(await tensor\.data\(\)\)\[0\]/u],
  ['an ONNX tensor', called('log', 'loss', { dims: [], data: [1] }, AT), /tensor\.data\[0\]/u],
  ['a promise', called('log', 'loss', Promise.resolve(1), AT), /await the promise first/u],
  ['a text', called('log', 'loss', '0.5', AT), /Number\(\) makes one of it\); got "0\.5"/u],
  ['a bigint', called('log', 'loss', 1n, AT), /Number\(\)/u],
  ['an array', called('log', 'loss', [1, 2], AT), /logColumns\(\) takes many/u],
  ['nothing', called('log', 'loss', undefined, AT), /value of loss must be a number/u],
  ['groups', called('logMany', { train: { loss: 1 } }, AT), /names such as "train\/loss"/u],
  ['one metric as many', called('logMany', 'loss', 1, AT), /log\("loss", 0\.5/u],
  ['a step of many', called('logMany', { loss: 1 }, 3), /such as \{ step: 3 \}/u],
  ['a list', called('logMany', [1, 2], AT), /a plain object of metric names/u],
  [
    'a step as third of a bound logger',
    (_metrics, session) => new MetricsLogger(session).at(AT).log('loss', 1, 5 as never),
    /such as \{ step: 5 \}/u,
  ],
];

const NEEDS_POSITION = new Set(['no position', 'a misspelt step']);

test('calls of a logger that are wrong name the right one', async () => {
  const storage = createMemoryStore();
  const session = await startRun({ project: 'p', storage });
  const metrics = new MetricsLogger(session);
  metrics.log('known', 1, AT);
  session.setStep(9);
  for (const [what, call, says] of CALLS) {
    // Those need a session without a step: see below.
    if (NEEDS_POSITION.has(what)) continue;
    expect(() => call(metrics as never, session), what).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(says) }),
    );
  }
  await session.flush();
  expect((await (await openRun(storage, session.runId)).readMetrics()).length).toBe(1);
  await session.endRun();
});

test('a sample without a position names what gives one, and a misspelt name', async () => {
  const session = await startRun({ project: 'p', storage: createMemoryStore() });
  const metrics = new MetricsLogger(session);
  metrics.log('known', 1, AT);
  const calls = CALLS.filter(([what]) => NEEDS_POSITION.has(what));
  expect(calls).toHaveLength(2);
  for (const [what, call, says] of calls)
    expect(() => call(metrics as never, session), what).toThrow(says);
  await session.endRun();
});

test('a session says which object records metrics', async () => {
  const session = await startRun({ project: 'p', storage: createMemoryStore() });
  for (const name of ['log', 'logMany'])
    expect(() => called(name as 'log', { loss: 1 })(session as never, session)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringContaining(`new MetricsLogger(session).${name}(`),
      }),
    );
  await session.endRun();
});

test('NaN in strict mode names the option that records it', async () => {
  const session = await startRun({ project: 'p', storage: createMemoryStore(), strictMode: true });
  const metrics = new MetricsLogger(session);
  expect(() => metrics.log('loss', Number.NaN, AT)).toThrow(
    /finite number \(.*nonFinite: "store"/u,
  );
  await session.endRun();
});

test('a run that is ending says that, and which call to await', async () => {
  const session = await startRun({ project: 'p', storage: createMemoryStore() });
  const ending = session.endRun();
  await expect(session.endRun()).rejects.toThrow(/is ending: endRun\(\).*await that call/u);
  await ending;
});

test('a misspelt option names the one that is meant', async () => {
  for (const [wrong, right] of [
    ['storagedir', 'storageDir'],
    ['projcet', 'project'],
    ['jobtype', 'jobType'],
  ] as const)
    await expect(startRun({ project: 'p', [wrong]: 'x' })).rejects.toThrow(
      `(did you mean "${right}"?)`,
    );
  await expect(openStorage('postgress://host/name')).rejects.toThrow('Did you mean "postgres:"?');
});

test('an incomplete store is refused where it is handed over', async () => {
  const { ...whole } = createMemoryStore();
  const half = { ...whole, close: undefined, listLeases: undefined } as unknown as Store;
  const uses: readonly ((store: Store) => Promise<unknown>)[] = [
    (storage) => startRun({ project: 'p', storage }),
    (storage) => resumeRun({ runId: 'r', storage }),
    listRuns,
    (store) => openRun(store, 'r'),
    migrateStore,
  ];
  for (const use of uses) {
    await expect(use(half)).rejects.toThrow(/it lacks listLeases\(\), close\(\)\./u);
    await expect(use({ uri: 'own:' } as never)).rejects.toThrow(/an open store \(see openStorage/u);
    await expect(use(Promise.resolve(whole) as never)).rejects.toThrow(/await the promise first/u);
  }
});

test('a block that throws does not end its run as completed, and what endRun said counts', async () => {
  const storage = createMemoryStore();
  const left = async (work: (session: TrainingSession) => unknown): Promise<string> => {
    let runId = '';
    const block = async (): Promise<void> => {
      await using session = await startRun({ project: 'p', storage });
      ({ runId } = session);
      await work(session);
    };
    await block().catch(() => undefined);
    return runId;
  };
  const thrown = await left(() => Promise.reject(new Error('out of memory')));
  const { run } = await openRun(storage, thrown);
  expect(run.status).toBe('interrupted');
  expect(run.statusReason).toMatch(/disposed before endRun\(\)\. TrainingSession\.run\(\)/u);
  const said = await left((session) => session.endRun());
  expect((await openRun(storage, said)).run.status).toBe('completed');
});
