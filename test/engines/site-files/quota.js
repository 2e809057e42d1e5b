// Uses up what the browser gives this site, and gives it back.
const JUNK = 'junk';
const STEPS = [4_000_000, 500_000, 50_000, 5_000, 500];

const done = (request) =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error));
  });

const put = Object.getOwnPropertyDescriptor(IDBObjectStore.prototype, 'put');

/** Where a quota cannot be set, IndexedDB is made to refuse as a full one does. */
function inject() {
  Object.defineProperty(IDBObjectStore.prototype, 'put', {
    ...put,
    value() {
      throw new DOMException('Injected by the test.', 'QuotaExceededError');
    },
  });
}

/** Whether so many bytes did fit. Each time over a connection of its own: Firefox ends one whose write did not fit. */
async function write(sizeBytes) {
  const bytes = new Uint8Array(sizeBytes);
  for (let at = 0; at < sizeBytes; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  const opening = indexedDB.open(JUNK, 1);
  opening.addEventListener('upgradeneeded', () =>
    opening.result.createObjectStore('junk', { autoIncrement: true }),
  );
  try {
    const database = await done(opening);
    const transaction = database.transaction('junk', 'readwrite');
    const ended = new Promise((resolve) => {
      transaction.addEventListener('complete', () => resolve(true));
      transaction.addEventListener('abort', () => resolve(false));
    });
    transaction.objectStore('junk').add(bytes);
    const didFit = await ended;
    database.close();
    return didFit;
  } catch {
    return false;
  }
}

/** Writes until nothing fits; `inject` does not write. */
export async function fill(way) {
  if (way === 'inject') {
    inject();
    return;
  }
  for (const sizeBytes of STEPS) {
    let written = 0;
    while (await write(sizeBytes)) {
      written += sizeBytes;
      if (written > 1_000_000_000) throw new Error('This browser does not get full.');
    }
  }
}

/** Makes room again. */
export async function free(way) {
  if (way === 'inject') Object.defineProperty(IDBObjectStore.prototype, 'put', put);
  else await done(indexedDB.deleteDatabase(JUNK));
}
