/** A share as per cent. What a clock measures by samples may be a little below nothing. */
export function overheadPercent(share: number): string {
  return `${(100 * Math.max(0, share)).toFixed(share < 0.0995 ? 1 : 0)} %`;
}
