/** `quark-sdk/console`: what a program printed, recorded and read back. */
export {
  captureConsole,
  type CaptureConsoleOptions,
  type ConsoleCapture,
  type ConsoleCaptureStatus,
} from './instruments/console/capture-console.ts';
export {
  forwardConsole,
  type ConsolePort,
  type ConsoleSender,
} from './instruments/console/forward-console.ts';
export {
  readConsole,
  type ConsoleFilter,
  type ConsolePosition,
  type ConsoleRead,
} from './instruments/console/read-console.ts';
export {
  CONSOLE_LEVELS,
  CONSOLE_SOURCES,
  type ConsoleLevel,
  type ConsoleLine,
  type ConsoleSource,
  type ConsoleSpan,
} from './instruments/console/console-line.ts';
