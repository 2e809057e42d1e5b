/** Numbers for people. */

/** Up to four digits, with an exponent where there would be too many zeros. */
export function shortText(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  const text =
    size !== 0 && (size >= 1e6 || size < 1e-4)
      ? value.toExponential(2)
      : String(Number(value.toPrecision(4)));
  return text.replace(/^-/u, '−').replace('e-', 'e−').replace('e+', 'e');
}

/** A share, 0 to 1, in whole percent. */
export function percentText(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Milliseconds as hours, minutes and seconds. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).slice(0, 2);
  return shown.length === 0 ? '0 s' : shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** Round places on an axis that cover a range: 1, 2 or 5 times a power of ten apart, at most `most` of them. */
export function linearTicks(low: number, high: number, most: number): readonly number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / most;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * unit >= raw) ?? 10) * unit;
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step);
  // Far from zero, a step may be below the distance of neighbouring numbers.
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return [low];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** Powers of ten that cover a range above zero, downsampled out to `most`. */
export function logTicks(low: number, high: number, most: number): readonly number[] {
  const first = Math.ceil(Math.log10(low));
  const last = Math.floor(Math.log10(high));
  const stride = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks: number[] = [];
  for (let power = first; power <= last; power += stride) ticks.push(10 ** power);
  return ticks;
}
