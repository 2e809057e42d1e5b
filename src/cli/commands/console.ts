/** `quark console RUN`: what the program of a run printed. */
import {
  CONSOLE_LEVELS,
  CONSOLE_SOURCES,
  readConsole,
  type ConsoleLevel,
  type ConsoleLine,
  type ConsoleRead,
  type ConsoleSpan,
} from '../../console.ts';
import { withControlsShown } from '../../base/texts/control-characters.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import type { CliIo } from '../support/io.ts';
import { untilEnded } from '../support/until-ended.ts';
import { UsageError } from '../support/args.ts';
import { counted, onTerminal, type Style } from '../support/text.ts';

const LINES_PER_WRITE = 500;
/** Of two seconds. */
const MAX_NEW_LINES = 1_000_000;

export const consoleCommand: Command = {
  spec: {
    name: 'console',
    summary: 'Show what the program of a run printed.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      limit: { kind: 'count', value: 'N', help: 'The latest lines, so many. Default: 10000.' },
      level: {
        kind: 'list',
        value: 'LEVEL',
        help: `Only lines of this level: ${CONSOLE_LEVELS.join(', ')}.`,
      },
      source: {
        kind: 'list',
        value: 'SOURCE',
        help: `Only lines of this source: ${CONSOLE_SOURCES.join(', ')}.`,
      },
      follow: {
        kind: 'flag',
        help: 'Go on with what is printed until the run ends, or Ctrl-C. With --json, a JSON line for each line.',
      },
      times: { kind: 'flag', help: 'Show the time of each line.' },
      json: JSON_OPTION,
    },
    notes: [
      'A program records what it prints with captureConsole(session) of quark-sdk/console.',
      'Control characters are shown as escapes. Colours are shown on a terminal.',
    ],
  },
  run: ({ io, args, style }) =>
    withStore({ io, args }, async (store) => {
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const filter = {
        levels: chosen('level', args.list('level'), CONSOLE_LEVELS),
        sources: chosen('source', args.list('source'), CONSOLE_SOURCES),
      };
      const withTimes = args.flag('times');
      const isJson = args.flag('json');
      const print = ({ lines }: ConsoleRead): Promise<void> =>
        write(
          io,
          lines.map((line) =>
            isJson ? JSON.stringify(lineJson(line)) : lineText(line, withTimes, style),
          ),
        );
      let read = await readConsole(reader, { ...filter, limit: args.count('limit') });
      if (args.flag('follow')) {
        await print(read);
        await untilEnded(io, reader, async () => {
          const { position: after } = read;
          read = await readConsole(reader, { ...filter, after, limit: MAX_NEW_LINES });
          await print(read);
        });
      } else if (isJson) await io.stdout.write(wholeJson(read));
      else if (read.lines.length === 0) await io.stderr.write('No lines.\n');
      else await print(read);
      if (read.droppedLines > 0)
        await io.stderr.write(
          `note: ${counted(read.droppedLines, 'line')} were dropped: the program printed faster than they could be stored.\n`,
        );
      for (const problem of read.problems)
        await io.stderr.write(`warning: ${onTerminal(problem)}\n`);
      return EXIT.ok;
    }),
};

async function write(io: CliIo, lines: readonly string[]): Promise<void> {
  for (let from = 0; from < lines.length; from += LINES_PER_WRITE)
    await io.stdout.write(`${lines.slice(from, from + LINES_PER_WRITE).join('\n')}\n`);
}

function wholeJson({ droppedLines, lines, storedLines }: ConsoleRead): string {
  return jsonText({
    lines: lines.map(lineJson),
    stored_lines: storedLines,
    dropped_lines: droppedLines,
  });
}

function chosen<T extends string>(
  option: string,
  given: readonly string[] | undefined,
  known: readonly T[],
): readonly T[] | undefined {
  return given?.map((text) => {
    const found = known.find((one) => one === text);
    if (found === undefined)
      throw new UsageError(
        `--${option} must be one of ${known.join(', ')}, not "${text}"`,
        'console',
      );
    return found;
  });
}

function lineJson({ level, source, spans, text, timeMs }: ConsoleLine): object {
  return {
    time: new Date(timeMs).toISOString(),
    source,
    level,
    text,
    ...(spans.length === 0 ? {} : { spans }),
  };
}

function lineText(line: ConsoleLine, withTimes: boolean, style: Style): string {
  const time = withTimes ? `${style.dim(new Date(line.timeMs).toISOString())} ` : '';
  const isColoured = style.bold('') !== '';
  return `${time}${isColoured ? painted(line) : shown(line.text)}`;
}

/** A carriage return would lead back to the beginning of the line. */
function shown(text: string): string {
  return withControlsShown(text).replaceAll('\r', '\\u000d');
}

const COLOR_CODES: ReadonlyMap<string, number> = new Map(
  ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'].flatMap((name, i) => [
    [name, 30 + i] as const,
    [`bright-${name}`, 90 + i] as const,
  ]),
);
const LEVEL_CODES: Readonly<Partial<Record<ConsoleLevel, number>>> = { warn: 33, error: 31 };

/** The line in the colours that it was printed in; warnings and errors that had none in yellow and red. */
function painted({ level, spans, text }: ConsoleLine): string {
  const code = level === null ? undefined : LEVEL_CODES[level];
  if (spans.length === 0)
    return code === undefined ? shown(text) : `\u001b[${code}m${shown(text)}\u001b[39m`;
  let line = '';
  let from = 0;
  for (const span of spans) {
    line += shown(text.slice(from, span.start));
    const codes = codesOf(span)
      .map((one) => `\u001b[${one}m`)
      .join('');
    const inside = shown(text.slice(span.start, span.end));
    line += codes === '' ? inside : `${codes}${inside}\u001b[0m`;
    from = span.end;
  }
  return line + shown(text.slice(from));
}

function codesOf(span: ConsoleSpan): number[] {
  const color = span.color === null ? undefined : COLOR_CODES.get(span.color);
  return [
    ...(color === undefined ? [] : [color]),
    ...(span.isBold ? [1] : []),
    ...(span.isDim ? [2] : []),
    ...(span.isItalic ? [3] : []),
    ...(span.isUnderlined ? [4] : []),
  ];
}
