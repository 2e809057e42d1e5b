/**
 * Event files of TensorBoard, as TensorFlow, Keras, PyTorch, tensorboardX and others write them: scalars of both generations of the
 * format, histograms, texts, hyperparameters; `hparams.yaml` of Lightning beside them. A folder with event files is a run, as it is for TensorBoard; folders of its two sides are one. Images, audio, graphs and
 * profiles are left out.
 */
import { isQuarkError, messageOf } from '../../../base/errors.ts';
import { maskedCrc32c } from '../../../base/crc32.ts';
import { EventReader } from '../messages/event-proto.ts';
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import { runFolderOf, runsOfFolders, wordsOfFolder } from '../messages/event-folders.ts';
import type { ImportContext, Importer, InputHead } from '../sink/importer.ts';
import { configFromYaml } from '../tables/yaml-config.ts';
import { ProtoReader } from '../../../codecs/protobuf/reader.ts';
import { TfRecordScanner } from '../../../codecs/tfrecord/tf-records.ts';

const NAME = /\btfevents\b/;
/** The settings of a run that Lightning writes into its folder. */
const SETTINGS_NAME = 'hparams.yaml';
/** Folders of a run with event files of their own, beside which its settings lie. */
const PARTS = ['train', 'training', 'validation', 'valid', 'val', 'test', 'eval'];
const HEADER_BYTES = 12;
const HEAD_BYTES = 65_536;

/** TensorBoard. */
export const tensorBoard: Importer = {
  format: 'tensorboard',
  title: 'TensorBoard event files',
  detect(head) {
    if (fileName(head.file.path) === SETTINGS_NAME) return isBesideEvents(head) ? 0.8 : 0;
    const isNamed = NAME.test(fileName(head.file.path));
    const first = firstEvent(head.bytes);
    if (first === undefined) return isNamed ? 0.6 : 0;
    // Programs whose own files say the same again are surer of theirs.
    if (first.isVersioned) return 0.98;
    // Files of training examples have the same framing; their records do not begin with a time.
    return isNamed || first.timeMs > 0 ? 0.9 : 0;
  },
  group(files) {
    // Settings are found by their name: they do not make another run of the same events.
    return runsOfFolders(files.filter(({ path }) => fileName(path) !== SETTINGS_NAME)).map(
      (group) =>
        group.toSorted(
          (a, b) => secondsOf(a) - secondsOf(b) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0),
        ),
    );
  },
  async read(files, context) {
    const startedAtMs = await firstTime(files);
    const [first] = files;
    if (first === undefined) return;
    const folder = runFolderOf(files);
    const sink = await context.run({
      identity: folder,
      name: folder === '' ? fileName(first.path) : folder,
      startedAtMs,
      tags: ['tensorboard'],
    });
    const beside = settingsOf(folder, context.files);
    if (beside !== undefined) sink.config(await configOf(beside, context));
    const problem = (offset: number, reason: string): void =>
      context.problem({ file: current, place: offset < 0 ? null : `byte ${offset}`, reason });
    let current = first.path;
    // Steps begin again in each folder.
    const readers = new Map<string, EventReader>();
    for (const file of files) {
      current = file.path;
      const own = folderOf(file.path);
      const events =
        readers.get(own) ??
        new EventReader(sink, context.limits, wordsOfFolder(own, folder), problem);
      readers.set(own, events);
      events.beginFile(fileName(file.path));
      await readFile(file, context, events);
      if (sink.isFull) await sink.flush();
    }
  },
};

function isBesideEvents({ file, namesIn }: InputHead): boolean {
  const folder = folderOf(file.path);
  return [folder, ...PARTS.map((part) => (folder === '' ? part : `${folder}/${part}`))].some(
    (one) => namesIn(one).some((name) => NAME.test(name)),
  );
}

/** The settings in the folder of a run, or beside it where the run is all of one side. */
function settingsOf(folder: string, files: readonly InputFile[]): InputFile | undefined {
  const folders = PARTS.includes(fileName(folder)) ? [folder, folderOf(folder)] : [folder];
  return folders
    .map((one) => (one === '' ? SETTINGS_NAME : `${one}/${SETTINGS_NAME}`))
    .map((settings) => files.find(({ path }) => path === settings))
    .find((file) => file !== undefined);
}

/** The settings; those that cannot be read are a problem, and the events are read all the same. */
async function configOf(
  file: InputFile,
  context: ImportContext,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await configFromYaml(file, context);
  } catch (error) {
    if (isQuarkError(error, 'aborted')) throw error;
    context.problem({ file: file.path, place: null, reason: messageOf(error) });
    return {};
  }
}

async function readFile(
  file: InputFile,
  context: ImportContext,
  events: EventReader,
): Promise<void> {
  const scanner = new TfRecordScanner(
    context.limits,
    (bytes, view, start, end, offset) => events.read(bytes, view, start, end, offset),
    (offset, reason) => context.problem({ file: file.path, place: `byte ${offset}`, reason }),
  );
  if (file.sizeBytes === 0) {
    context.problem({ file: file.path, place: null, reason: 'The file is empty.' });
    return;
  }
  for await (const piece of file.stream()) {
    scanner.push(piece);
    await events.settle();
  }
  scanner.end();
}

/** Writers put the second in which a file was begun into its name. */
function secondsOf(file: InputFile): number {
  const digits = /tfevents\.(\d{1,12})/.exec(fileName(file.path))?.[1];
  return digits === undefined ? Number.MAX_SAFE_INTEGER : Number(digits);
}

async function firstTime(files: readonly InputFile[]): Promise<number | null> {
  for (const file of files) {
    const found = firstEvent(await file.slice(0, HEAD_BYTES));
    if (found !== undefined && found.timeMs > 0) return found.timeMs;
  }
  return null;
}

type FirstEvent = { readonly isVersioned: boolean; readonly timeMs: number };

/** The first record, when it is an event: a message with a time, a version, a summary. Of one that is longer only the checksum of its length is looked at. */
function firstEvent(bytes: InputHead['bytes']): FirstEvent | undefined {
  if (bytes.byteLength < HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (maskedCrc32c(bytes, 0, 8) !== view.getUint32(8, true)) return undefined;
  const length = view.getUint32(0, true);
  const end = Math.min(bytes.byteLength, HEADER_BYTES + length);
  const isWhole = end === HEADER_BYTES + length && view.getUint32(4, true) === 0;
  const message = new ProtoReader().open(bytes, view, HEADER_BYTES, end);
  let timeMs = 0;
  let isVersioned = false;
  while (message.next()) {
    if (message.field === 1 && message.wire === 1) timeMs = message.double() * 1000;
    else if (message.field === 3) isVersioned ||= message.text(12) === 'brain.Event:';
  }
  if (message.isBroken && isWhole) return undefined;
  return { isVersioned, timeMs };
}
