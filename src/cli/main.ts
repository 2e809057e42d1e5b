#!/usr/bin/env node
/** The `quark` command as a process. */
import { runCli } from './cli.ts';
import { processIo } from './support/io.ts';

process.exitCode = await runCli(process.argv.slice(2), processIo());
