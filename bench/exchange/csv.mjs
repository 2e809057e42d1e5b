// A CSV file of metrics, as trackers write them.
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';

/** Ten columns as Lightning writes them: floats of Python with all their digits, a validation row every tenth. */
export async function makeCsv(path, bytes) {
  await mkdir(dirname(path), { recursive: true });
  const stream = createWriteStream(path);
  stream.write('epoch,step,train_loss,train_acc,grad_norm,lr,throughput,val_loss,val_acc,time_s\n');
  let s = 88172645463325;
  const random = () => {
    s = (s * 16807) % 2147483647;
    return s / 2147483647;
  };
  let written = 0;
  let lines = 1;
  while (written < bytes) {
    let text = '';
    for (let i = 0; i < 1000; i++, lines++) {
      const loss = 2 * Math.exp(-lines / 1e6) + random() * 0.1;
      const val = lines % 10 === 0 ? `${loss * 1.1},${random()}` : ',';
      text += `${Math.floor(lines / 10_000)},${lines},${loss},${random()},${random() * 5},${1e-3 * random()},${Math.floor(random() * 1e5)},${val},${lines * 0.25}\n`;
    }
    written += text.length;
    if (!stream.write(text)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
  await finished(stream);
  return lines;
}
