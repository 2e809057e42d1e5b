/** `quark artifacts RUN`: the artifacts of a run, by their keys. */
import type { ArtifactRecord } from '../../probes.ts';
import { readArtifacts } from '../../read/tables.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import { byteText, counted, localTime, table } from '../support/text.ts';
