/** What the training page needs before it can train: the images, and TensorFlow.js on the best backend there is. */
import { parseDigits, type Digits, type Tf } from './digits.ts';
import { t } from '../../dashboard/parts/t.ts';

const DATA_FILE = 'digits.csv.gz';

/** First bytes of a gzip file. */
const GZIP_MAGIC = [0x1f, 0x8b] as const;

/** Backends in the order in which they are tried. */
export const BACKENDS = ['webgl', 'cpu'] as const;

/** Fetches the images that lie beside the page. */
export async function fetchDigits(base: string = document.baseURI): Promise<Digits> {
  const answer = await fetch(new URL(DATA_FILE, base));
  if (!answer.ok)
    throw new Error(
      t('{file} cannot be fetched: the server answered {status}.', {
        file: DATA_FILE,
        status: answer.status,
      }),
    );
  const bytes = new Uint8Array(await answer.arrayBuffer());
  // Some servers declare the file as compressed content, and then the browser has unpacked it already.
  const isPacked = GZIP_MAGIC.every((magic, at) => bytes[at] === magic);
  const stream = new Blob([bytes]).stream();
  const plain = isPacked ? stream.pipeThrough(new DecompressionStream('gzip')) : stream;
  return parseDigits(await new Response(plain).text());
}

/**
 * Loads TensorFlow.js and takes the first backend that works. `wanted` names one to take instead.
 *
 * @throws Error when no backend works
 */
export async function loadTensorFlow(wanted?: string): Promise<Tf> {
  const tf: Tf = await import('@tensorflow/tfjs');
  for (const backend of wanted === undefined ? BACKENDS : [wanted]) {
    if (await tf.setBackend(backend).catch(() => false)) {
      await tf.ready();
      return tf;
    }
  }
  throw new Error(
    t('TensorFlow.js cannot start here: none of {backends} works.', {
      backends: (wanted === undefined ? BACKENDS : [wanted]).join(', '),
    }),
  );
}
