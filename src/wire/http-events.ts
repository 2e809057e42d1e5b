/** The event stream of a service, listened to: it tells when there is something to read. It is loaded when a run is followed. */
import { EVENTS_MEDIA_TYPE } from './protocol.ts';
import type { HttpClient } from './http-client.ts';

/**
 * Streams of one store at a time. A browser has six connections to a service without HTTP/2; a service bounds the streams of a user.
 * Whoever comes later asks now and then instead.
 */
const MAX_STREAMS = 2;
/** A service writes something every 15 seconds; a line that says nothing for so long is dead. */
const SILENCE_MS = 45_000;

const open = new WeakMap<HttpClient, number>();

/** See `ConnectedStore.watchRun`. Resolves at the end of the stream, which a service ends now and then, and where it has none. */
export async function watchEvents(
  client: HttpClient,
  asked: { readonly runId: string; readonly table: string },
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const count = open.get(client) ?? 0;
  if (count >= MAX_STREAMS) return;
  open.set(client, count + 1);
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hear = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  hear();
  try {
    await client.stream(
      'GET /events',
      { query: { run: [asked.runId], table: [asked.table] } },
      {
        type: EVENTS_MEDIA_TYPE,
        signal: AbortSignal.any([signal, silence.signal]),
        onBytes: lineReader((line) => {
          hear();
          // Whatever happened, what became of it is read from the store.
          if (line.startsWith('data:')) onChange();
        }),
      },
    );
  } finally {
    clearTimeout(timer);
    open.set(client, (open.get(client) ?? 1) - 1);
  }
}

/** Calls back with each line, without its end. */
function lineReader(onLine: (line: string) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let begun = '';
  return (bytes) => {
    const lines = (begun + decoder.decode(bytes, { stream: true })).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  };
}
