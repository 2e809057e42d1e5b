/** `.wandb` files: what W&B writes beside a run, online or not. History, summary, configuration, system metrics, console, how it ended. */
import { fileName, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import type { OnRecord } from '../../../codecs/tfrecord/tf-records.ts';
import { WANDB_IDENT, WandbLogScanner } from '../../../codecs/tfrecord/wandb-log.ts';
import { readRun, type WandbRun } from '../messages/wandb-parts.ts';
import { WandbReader } from '../messages/wandb-proto.ts';

/** The record of the run is among the first. */
const HEAD_BYTES = 1 << 20;
const MAGIC = 0xbee1;

/** W&B. */
export const wandb: Importer = {
  format: 'wandb',
  title: 'W&B .wandb files',
  detect({ bytes }) {
    return WANDB_IDENT.every((byte, i) => bytes[i] === byte) ? 1 : 0;
  },
  async read(files, context) {
    for (const file of files) await readFile(file, context);
  },
};

async function readFile(file: InputFile, context: ImportContext): Promise<void> {
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
