/** What the commands touch outside of themselves: handed in, so that tests see and steer all of it. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { outliveTerminal } from '../../base/node/hangup.ts';
import { withOwnSequences } from '../../base/texts/control-characters.ts';

/** One of the two output streams. */
export type CliOutput = {
  readonly isTty: boolean;
  /** Width of the terminal in characters; undefined when it is none. */
  readonly columns: number | undefined;
  /** Height of the terminal in lines; undefined when it is none. */
  readonly rows: number | undefined;
  /** Resolves when more may be written. @throws {OutputClosed} when nobody reads any longer */
  write(data: string | Uint8Array): Promise<void>;
};

/** The whole screen of a terminal. */
export type TerminalScreen = {
  /** Shows these lines, from the top, instead of those before. */
  show(lines: readonly string[]): Promise<void>;
  close(): Promise<void>;
};

/** The other screen of a terminal, without a cursor, and the way back. */
const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** A screen on an output that escapes nothing: lines are escaped here. */
export async function screenOn(target: Pick<CliOutput, 'write'>): Promise<TerminalScreen> {
  await target.write(ENTER_SCREEN);
  return {
    show: (lines) => {
      const text = lines.map((line) => `${withOwnSequences(line)}${CLEAR_LINE_END}`).join('\r\n');
      // Over the lines before, so that nothing flickers.
      return target.write(`${HOME}${text}${CLEAR_BELOW}`);
    },
    close: () => target.write(LEAVE_SCREEN),
  };
}

/** The surroundings of a command. */
export type CliIo = {
  readonly stdout: CliOutput;
  readonly stderr: CliOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths start from. */
  readonly cwd: string;
  /** Calls back at every SIGINT and SIGTERM until undone; the process does not end by itself meanwhile. */
  onInterrupt(callback: () => void): () => void;
  /** Takes the whole screen of the terminal; what stood there before comes back when it is closed. */
  openScreen(): Promise<TerminalScreen>;
  /** Calls back with what is typed, as it is typed and without showing it, until undone. Nothing comes where there is no terminal. */
  onKeys(callback: (sent: string) => void): () => void;
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
    get rows() {
      return target.rows;
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
    openScreen: () => io.openScreen(),
    onKeys: (callback) => io.onKeys(callback),
    ask: (question) => io.ask(question),
    openBrowser: (url) => io.openBrowser(url),
    exit: (code) => io.exit(code),
  };
}

/** The surroundings of this process. */
export function processIo(): CliIo {
  const stdout = output(process.stdout);
  return {
    stdout,
    stderr: output(process.stderr),
    openScreen: () => screenOn(stdout),
    env: process.env,
    cwd: process.cwd(),
    onInterrupt(callback) {
      process.on('SIGINT', callback);
      process.on('SIGTERM', callback);
      const endWithTerminal = outliveTerminal(); // "nohup quark serve &"
      return () => {
        endWithTerminal?.();
        process.off('SIGINT', callback);
        process.off('SIGTERM', callback);
      };
    },
    onKeys,
    ask,
    openBrowser,
    exit: (code) => process.exit(code),
  };
}

function onKeys(callback: (sent: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => undefined;
  const listen = (data: Buffer): void => callback(data.toString('utf8'));
  stdin.setRawMode(true);
  stdin.on('data', listen);
  return () => {
    stdin.off('data', listen);
    stdin.setRawMode(false);
    stdin.pause();
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
    get rows() {
      return stream.isTTY ? stream.rows : undefined;
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
