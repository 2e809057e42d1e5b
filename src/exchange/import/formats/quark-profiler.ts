/** The YAML of AMD Quark's profiler: memory and disk at each checkpoint, and a summary that a crashed program never wrote. */
import { fileName, type InputFile } from '../../../codecs/input.ts';
import {
  checkpointsOfForeign,
  summaryOfForeign,
  type ForeignCheckpoint,
} from '../../../profile/imported.ts';
import {
  checkpointPayload,
  endedPayload,
  PROFILE_EVENTS,
} from '../../../profile/profile-records.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';
import { isRowObject } from '../tables/object-rows.ts';
import { runNameOf } from '../sink/run-names.ts';
import { readYamlFile } from '../tables/yaml-config.ts';

const MAX_NAME_CHARS = 1000;
/** The documentation and the program name it differently. */
const ALIASES: Readonly<Record<string, string>> = { gpu_peak_memory_mb: 'peak_gpu_memory_mb' };

/** AMD Quark's profiler. */
export const quarkProfiler: Importer = {
  format: 'quark_profiler',
  title: "AMD Quark's profiler (YAML)",
  detect({ text }) {
    if (!/^memory_usage:\s*$/m.test(text)) return 0;
    return /^\s*- step:/m.test(text) || text.startsWith('# Quark Profiling Results') ? 1 : 0.3;
  },
  async read(files, context) {
    for (const file of files) await readProfile(file, context);
  },
};

async function readProfile(file: InputFile, context: ImportContext): Promise<void> {
  const profile = await readYamlFile(file, context);
  const checkpoints = isRowObject(profile) ? profile['memory_usage'] : undefined;
  if (!isRowObject(profile) || !Array.isArray(checkpoints)) {
    const reason = 'There is no list called memory_usage in it.';
    context.problem({ file: file.path, place: null, reason });
    return;
  }
  const sink = await context.run({
    identity: file.path,
    name: runNameOf(file.path),
    tags: ['profile'],
  });
  let lastTimeMs = Number.NaN;
  let lastStep: unknown;
  const foreign: ForeignCheckpoint[] = [];
  for (const [i, checkpoint] of checkpoints.entries()) {
    if (!isRowObject(checkpoint)) {
      const reason = 'It is no checkpoint.';
      context.problem({ file: file.path, place: `memory_usage[${i}]`, reason });
      continue;
    }
    const { step: name, timestamp, ...measures } = checkpoint;
    const timeMs = instantFromText(timestamp);
    lastTimeMs = timeMs;
    lastStep = name;
    const values: Record<string, number> = {};
    for (const [measure, written] of Object.entries(measures)) {
      const value = metricNumber(written);
      if (value === undefined) continue;
      values[measure] = value;
      sink.push(sink.metric(`profiler/${measure}`), value, i, Number.NaN, timeMs);
    }
    foreign.push({ name: String(name).slice(0, MAX_NAME_CHARS), timeMs, values });
  }
  const id = fileName(file.path);
  for (const one of checkpointsOfForeign(foreign))
    sink.event({
      eventType: PROFILE_EVENTS.checkpoint,
      step: one.index,
      timeMs: one.timeMs,
      payload: checkpointPayload(id, one),
    });
  const { memory_usage: _, ...summary } = profile;
  const numbers = Object.entries(summary).flatMap(([name, written]) => {
    const value = metricNumber(written);
    return value === undefined ? [] : [[ALIASES[name] ?? name, value] as const];
  });
  for (const [name, value] of numbers)
    sink.push(
      sink.metric(`summary/${name}`),
      value,
      checkpoints.length - 1,
      Number.NaN,
      lastTimeMs,
    );
  if (numbers.length > 0)
    sink.event({
      eventType: PROFILE_EVENTS.ended,
      timeMs: lastTimeMs,
      payload: endedPayload(id, {
        ...summaryOfForeign(Object.fromEntries(numbers)),
        droppedCheckpoints: 0,
      }),
    });
  // Checkpoint and summary at the end are written together, when the program stops.
  if (numbers.length === 0 && lastStep !== 'End') sink.status('interrupted');
}
