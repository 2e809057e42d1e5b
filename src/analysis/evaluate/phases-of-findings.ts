/** Phases that a finding is sure of, laid over those that were seen. */
import { evidenceRecord } from '../../records/evidence.ts';
import type { PhaseName } from '../../records/literals.ts';
import { PHASE_DISPLAY_NAMES, type FoundPhase } from '../phases/describe.ts';
import { sayPositions } from '../signals/positions.ts';
import type { Finding } from '../signals/rule-types.ts';

/**
 * The phases with one more, from where a finding begins to the end of the run, or within a span. What is below it is cut off
 * or goes; neighbours of one name become one. The first phase stays where another begins after it.
 */
export function withFinding(
  phases: readonly FoundPhase[],
  name: PhaseName,
  finding: Finding,
  span?: { readonly start: number; readonly end: number },
): readonly FoundPhase[] {
  const [first] = phases;
  const last = phases.at(-1);
  if (first === undefined || last === undefined) return phases;
  const { axis } = last;
  const earliest = phases[1]?.start ?? first.start;
  const start = span?.start ?? Math.max(earliest, finding.from?.[axis] ?? earliest);
  const end = span?.end ?? last.end;
  if (start > end) return phases;
  const before = phases.flatMap((phase) =>
    phase.start < start ? [{ ...phase, end: Math.min(phase.end, endBefore(start)) }] : [],
  );
  const after = phases.filter((phase) => phase.start > end);
  return joined([...before, phaseOf(name, finding, { axis, start, end }), ...after]);
}

/** A phase without progress as one in which there was none left to make. */
export function settled(phase: FoundPhase): FoundPhase {
  const [, moved = phase.summary] = /^No progress: (.*)$/su.exec(phase.summary) ?? [];
  return {
    ...phase,
    phaseName: 'stabilization',
    displayName: PHASE_DISPLAY_NAMES.stabilization,
    summary: `Slower progress, or none left to make: ${moved}`,
  };
}

/** Where the phase before another ends. */
function endBefore(start: number): number {
  return Number.isInteger(start) ? start - 1 : start;
}

function phaseOf(
  phaseName: PhaseName,
  { confidence, fact, observations }: Finding,
  { axis, end, start }: Pick<FoundPhase, 'axis' | 'start' | 'end'>,
): FoundPhase {
  return {
    phaseName,
    displayName: PHASE_DISPLAY_NAMES[phaseName],
    axis,
    start,
    end,
    confidence,
    summary: `${fact.replace(/\.$/u, '')} (${sayPositions(axis, start, end)}).`,
    evidence: observations.map(({ kind, observed, source, summary, threshold }) =>
      evidenceRecord.create({
        kind,
        source,
        summary,
        observedValue: finiteOrNull(observed),
        thresholdValue: finiteOrNull(threshold),
        stepStart: Math.floor(start),
        stepEnd: Math.floor(end),
        metadata: { confidence, axis },
      }),
    ),
  };
}

function joined(phases: readonly FoundPhase[]): readonly FoundPhase[] {
  const result: FoundPhase[] = [];
  for (const phase of phases) {
    const last = result.at(-1);
    if (last?.phaseName === phase.phaseName)
      result[result.length - 1] = { ...last, end: phase.end };
    else result.push(phase);
  }
  return result;
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
