/** The outline of a sound: the lowest and the highest sample of each of a number of spans. Pure. */

/** Outlines of channels, from -1 to 1; `[low, high]` of each span. */
export type WavePeaks = { readonly lows: Float32Array; readonly highs: Float32Array };

/** Lows and highs of all channels together, in `count` spans of equal length; fewer where there are fewer frames. */
export function wavePeaks(channels: readonly ArrayLike<number>[], count: number): WavePeaks {
  const frameCount = channels.reduce((most, { length }) => Math.max(most, length), 0);
  const spans = Math.max(0, Math.min(count, frameCount));
  const lows = new Float32Array(spans);
  const highs = new Float32Array(spans);
  for (let span = 0; span < spans; span += 1) {
    const from = Math.floor((span * frameCount) / spans);
    const to = Math.max(from + 1, Math.floor(((span + 1) * frameCount) / spans));
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const channel of channels)
      for (let frame = from; frame < to && frame < channel.length; frame += 1) {
        const value = channel[frame] ?? 0;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    lows[span] = low <= high ? low : 0;
    highs[span] = low <= high ? high : 0;
  }
  return { lows, highs };
}
