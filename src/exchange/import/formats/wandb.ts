/** `.wandb` files: what W&B writes beside a run, online or not. History, summary, configuration, system metrics, console, how it ended. */
import { fileName, type InputFile } from '../../../codecs/input.ts';
import {
  pushWandbSummary,
  wandbFile,
  wandbFolderOf,
  wandbObject,
  wandbSettings,
} from '../messages/wandb-files.ts';
import { readTextLog } from './text-log.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import type { OnRecord } from '../../../codecs/tfrecord/tf-records.ts';
import { WANDB_IDENT, WandbLogScanner } from '../../../codecs/tfrecord/wandb-log.ts';
import { readRun, type WandbRun } from '../messages/wandb-parts.ts';
import { WandbReader } from '../messages/wandb-proto.ts';

/** The record of the run is among the first. */
const HEAD_BYTES = 1 << 20;
const HEADER_BYTES = 7;
const MAGIC = 0xbee1;
/** The history of runs that another importer reads. */
const HISTORY = 'wandb-history.jsonl';
/** Files of a run that tell of it. */
const RUN_FILES = new Set([
  'config.yaml',
  'wandb-summary.json',
  'wandb-metadata.json',
  'output.log',
  'requirements.txt',
]);
/** Logs of W&B itself. */
const DEBUG_LOG = /(?:^|\/)wandb\/(?:.*\/)?debug[\w.-]{0,80}\.log$/;

/** W&B. */
export const wandb: Importer = {
  format: 'wandb',
  title: 'W&B .wandb files and the folders of their runs',
  detect({ bytes, file, hasFile }) {
    if (isWandb(bytes)) return 1;
    const run = wandbFolderOf(file.path);
    if (run === undefined || hasFile(`${run.path}/${HISTORY}`))
      return DEBUG_LOG.test(file.path) ? 0.85 : 0;
    // What is beside a .wandb file repeats parts of it; without one, it is all that there is of the run.
    if (hasFile(`${run.path}/run-${run.id}.wandb`)) return 0.99;
    return RUN_FILES.has(fileName(file.path)) || DEBUG_LOG.test(file.path) ? 0.97 : 0;
  },
  group: groupByRun,
  async read(files, context) {
    let main: InputFile | undefined;
    for (const file of files) if (isWandb(await file.slice(0, HEADER_BYTES))) main ??= file;
    // A file of a damaged beginning says by its name what it is; one by itself was asked for.
    main ??= files.find(({ path }) => path.endsWith('.wandb'));
    if (main === undefined && !files.some(({ path }) => wandbFolderOf(path) !== undefined))
      main = files[0];
    if (main === undefined) await readFolder(files, context);
    else await readFile(main, await wandbSettings(files, context), context);
  },
};

function isWandb(bytes: Uint8Array): boolean {
  return WANDB_IDENT.every((byte, i) => bytes[i] === byte);
}

/** A folder of a run is one run, whatever lies in it. Logs of W&B's own go with the first. */
function groupByRun(files: readonly InputFile[]): InputFile[][] {
  const groups = new Map<string, InputFile[]>();
  const logs: InputFile[] = [];
  for (const file of files) {
    const run = wandbFolderOf(file.path)?.path;
    if (run === undefined && DEBUG_LOG.test(file.path)) {
      logs.push(file);
      continue;
    }
    const key = run ?? file.path;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [file]);
    else group.push(file);
  }
  const [first = []] = groups.values();
  first.push(...logs);
  return groups.size === 0 ? [first] : [...groups.values()];
}

/** A run without its .wandb file: settings, the last values, and what was printed. */
async function readFolder(files: readonly InputFile[], context: ImportContext): Promise<void> {
  const about = files.map(({ path }) => wandbFolderOf(path)).find((run) => run !== undefined);
  if (about === undefined || !files.some(({ path }) => RUN_FILES.has(fileName(path)))) return;
  const run = {
    identity: about.path,
    name: about.id,
    startedAtMs: about.startedAtMs,
    tags: ['wandb'],
  };
  const sink = await context.run(run);
  sink.config(await wandbSettings(files, context));
  sink.environment({ wandb: await wandbObject(files, 'wandb-metadata.json', context) });
  pushWandbSummary(await wandbObject(files, 'wandb-summary.json', context), sink, context);
  const output = wandbFile(files, 'output.log');
  if (output !== undefined) await readTextLog(output, context, run);
}

async function readFile(
  file: InputFile,
  settings: Readonly<Record<string, unknown>>,
  context: ImportContext,
): Promise<void> {
  const problem = (offset: number, reason: string): void =>
    context.problem({ file: file.path, place: `byte ${offset}`, reason });
  const head = await file.slice(0, HEAD_BYTES);
  const about = findRun(head, context);
  const [, , , , low = 0, high = 0, version = 0] = head;
  if (low + 256 * high !== MAGIC || version !== 0)
    problem(4, 'The header is none that is known; read as if it were version 0.');
  const sink = await context.run({
    identity: about?.id ?? file.path,
    name: about?.name || about?.id || fileName(file.path).replace(/^run-|\.wandb$/g, ''),
    project: about?.project || null,
    startedAtMs: about?.startedAtMs ?? null,
    tags: ['wandb'],
  });
  // The records of the file come later, and change what they know better.
  sink.config(settings);
  const records = new WandbReader(sink, context.limits, problem);
  const scanner = new WandbLogScanner(
    context.limits,
    (bytes, view, start, end, offset) => records.read(bytes, view, start, end, offset),
    problem,
  );
  for await (const piece of file.stream()) {
    scanner.push(piece);
    await records.settle();
  }
  scanner.end();
  await records.finish();
}

function findRun(head: Uint8Array<ArrayBuffer>, context: ImportContext): WandbRun | undefined {
  let found: WandbRun | undefined;
  const onRecord: OnRecord = (bytes, view, start, end) => {
    found ??= readRun(bytes, view, start, end);
  };
  new WandbLogScanner(context.limits, onRecord, () => {}).push(head);
  if (found !== undefined) return found;
  const all = new WandbLogScanner(context.limits, onRecord, () => {});
  all.push(head);
  all.end();
  return found;
}
