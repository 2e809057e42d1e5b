/** What is said of a file that no importer knows: what was seen in it, and what to do. */
import { fileName } from '../../codecs/input.ts';
import type { InputHead, UnknownFile } from './sink/importer.ts';

type Kind = {
  readonly seen: string;
  readonly advice: string;
};

const WEIGHTS = 'It holds arrays or weights. Import the log that the program wrote beside it.';
const PICTURE = 'A picture has no numbers to read. Import what it was drawn from.';
const PATTERN =
  "If its lines have numbers, name them with --pattern, such as 'step (?<step>\\d+) .* loss (?<loss>\\S+)'; a format of its own takes an importer of some lines (docs/adding.md#an-importer).";
const TABLE =
  'Write a table with the columns step and loss (CSV), or one JSON object a line, such as {"step": 1, "loss": 0.5}.';

/** Beginnings of files that are no logs, in hexadecimal digits. */
const MAGICS: readonly (readonly [begin: string, kind: Kind])[] = [
  ['89504e47', { seen: 'a PNG picture', advice: PICTURE }],
  ['ffd8ff', { seen: 'a JPEG picture', advice: PICTURE }],
  ['47494638', { seen: 'a GIF picture', advice: PICTURE }],
  ['25504446', { seen: 'a PDF document', advice: PICTURE }],
  ['894844460d0a', { seen: 'an HDF5 file, as Keras saves models', advice: WEIGHTS }],
  ['934e554d5059', { seen: 'a NumPy array', advice: WEIGHTS }],
  ['504b0304', { seen: 'a ZIP archive, as PyTorch saves checkpoints', advice: WEIGHTS }],
  [
    '53514c69746520666f726d6174203300',
    {
      seen: 'a database of SQLite without the tables of Trackio',
      advice: "Export its rows as CSV. MLflow's file stores and `mlflow runs` exports are read.",
    },
  ],
  ['7f454c46', { seen: 'a program', advice: 'Import the log that it writes.' }],
];
const SHOWN_BYTES = 8;
const SHOWN_CHARS = 80;
const SHOWN_KEYS = 6;

/** Describes a file that no importer knows. */
export function describeUnknown({ bytes, file, text }: InputHead): UnknownFile {
  const { seen, advice } = kindOf(file.path, bytes, text);
  const size = file.sizeBytes === 1 ? '1 byte' : `${file.sizeBytes.toLocaleString('en')} bytes`;
  return { file: file.path, seen: `${size}, ${seen}`, advice };
}

function kindOf(path: string, bytes: Uint8Array<ArrayBuffer>, text: string): Kind {
  if (/(?:^|\/)\.aim\//.test(path))
    return {
      seen: "a part of Aim's repository",
      advice:
        "Export it with Aim: Repo('.').query_metrics('True').dataframe(...).to_csv(...) with include_name and include_run.",
    };
  const begin = hexOf(bytes, 16);
  const known = MAGICS.find(([magic]) => begin.startsWith(magic));
  if (known !== undefined) return known[1];
  if (bytes.includes(0) || text.includes('\ufffd'))
    return {
      seen: `binary data that begins with the bytes ${hexOf(bytes, SHOWN_BYTES).replace(/..(?=.)/g, '$& ')}`,
      advice: `${fileName(path)} is of no format that is known. ${TABLE}`,
    };
  return textKind(path, text);
}

function textKind(path: string, text: string): Kind {
  const keys = /^\s*\{/.test(text)
    ? [...text.slice(0, 4096).matchAll(/"([^"\\]{1,60})"\s{0,8}:/g)].map(([, key]) => `"${key}"`)
    : [];
  if (keys.length > 0) {
    const more = keys.length > SHOWN_KEYS ? ', ...' : '';
    return {
      seen: `JSON with ${keys.slice(0, SHOWN_KEYS).join(', ')}${more}, and neither lists of numbers nor rows with a step`,
      advice: TABLE,
    };
  }
  if (/\.(?:py|[cm]?[jt]sx?|sh|md|rst|html?|ya?ml|toml|ini|cfg)$/i.test(path))
    return {
      seen: `settings, code or prose by its name: ${firstLine(text)}`,
      advice: 'Import the log that the program writes.',
    };
  return {
    seen: `text in which no line has a number beside a step or an epoch: ${firstLine(text)}`,
    advice: PATTERN,
  };
}

function firstLine(text: string): string {
  const line = text.trimStart().split(/[\r\n]/, 1)[0] ?? '';
  return `"${line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}…` : line}"`;
}

function hexOf(bytes: Uint8Array, count: number): string {
  return Array.from(bytes.subarray(0, count), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
}
