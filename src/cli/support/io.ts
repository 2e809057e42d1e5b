/** What the commands touch outside of themselves: handed in, so that tests see and steer all of it. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { withOwnSequences } from '../../base/control-characters.ts';

/** One of the two output streams. */
export type CliOutput = {
  readonly isTty: boolean;
  /** Width of the terminal in characters; undefined when it is none. */
  readonly columns: number | undefined;
  /** Resolves when more may be written. @throws {OutputClosed} when nobody reads any longer */
  write(data: string | Uint8Array): Promise<void>;
};

/** The surroundings of a command. */
export type CliIo = {
  readonly stdout: CliOutput;
  readonly stderr: CliOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths start from. */
  readonly cwd: string;
  /** Calls back at every SIGINT and SIGTERM until undone; the process does not end by itself meanwhile. */
  onInterrupt(callback: () => void): () => void;
  /** Asks at the terminal, and resolves to the line that was answered; undefined where there is no terminal to ask at. */
  ask(question: string): Promise<string | undefined>;
  /** Shows a page in the user's browser; failing to is no error. */
  openBrowser(url: string): void;
  /** Ends the process at once. */
  exit(code: number): void;
};

/** The reader of the output has gone (`quark metrics RUN | head`): there is nobody left to write for. */
export class OutputClosed extends Error {
  constructor() {
    super('The output was closed.');
    this.name = 'OutputClosed';
  }
}

/**
 * The same streams, with control characters escaped in text for a terminal, so that recorded text cannot control it. Output to a
 * file or another program stays unchanged.
 */
export function guardTerminal(io: CliIo): CliIo {
  const guarded = (target: CliOutput): CliOutput => ({
    get isTty() {
      return target.isTty;
    },
    get columns() {
      return target.columns;
    },
    write: (data) => target.write(typeof data === 'string' ? withOwnSequences(data) : data),
  });
  const { stdout } = io;
  return {
    stdout: stdout.isTty ? guarded(stdout) : stdout,
    stderr: guarded(io.stderr),
    env: io.env,
    cwd: io.cwd,
    onInterrupt: (callback) => io.onInterrupt(callback),
    ask: (question) => io.ask(question),
    openBrowser: (url) => io.openBrowser(url),
    exit: (code) => io.exit(code),
  };
}

/** The surroundings of this process. */
export function processIo(): CliIo {
  return {
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    onInterrupt(callback) {
      process.on('SIGINT', callback);
      process.on('SIGTERM', callback);
      return () => {
        process.off('SIGINT', callback);
        process.off('SIGTERM', callback);
      };
    },
    ask,
    openBrowser,
    exit: (code) => process.exit(code),
  };
}

async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

function output(stream: NodeJS.WriteStream): CliOutput {
  let isClosed = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
    isClosed = true;
  });
  return {
    isTty: stream.isTTY,
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    write: (data) =>
      new Promise((resolve, reject) => {
        if (isClosed) reject(new OutputClosed());
        else
          stream.write(data, (error) =>
            error === undefined || error === null ? resolve() : reject(new OutputClosed()),
          );
      }),
  };
}

function openBrowser(url: string): void {
  const [command, args] =
    process.platform === 'darwin'
      ? ['open', [url]]
      : process.platform === 'win32'
        ? ['cmd', ['/c', 'start', '""', url]]
        : ['xdg-open', [url]];
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  // No browser, no desktop: the address has been printed anyway.
  child.on('error', () => undefined);
  child.unref();
}
