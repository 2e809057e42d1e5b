/** Shades onto a canvas: one pixel a cell, stretched without smoothing. */
import { BAD_SHADE } from './layer-grid.ts';

/** What to paint, and how large. */
export type HeatPicture = {
  /** `[rows, columns]`, row-major. */
  readonly shades: Int16Array;
  readonly columnCount: number;
  /** Where each column begins, and where the last one ends, in CSS pixels. */
  readonly lefts: Float64Array;
  readonly rowCount: number;
  /** CSS pixels of the canvas. */
  readonly width: number;
  readonly height: number;
  /** 256 colours, three bytes each. */
  readonly ramp: Uint8Array;
  /** CSS pixels left free between rows. */
  readonly rowGap: number;
  /** Colours of the stripes of a cell with elements that are no numbers. */
  readonly bad: { readonly ground: string; readonly stripe: string };
};

/** Paints it. */
export function paintHeat(canvas: HTMLCanvasElement, picture: HeatPicture): void {
  const { shades, columnCount, rowCount, width, height, ramp } = picture;
  const ratio = devicePixelRatio;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  if (context === null || columnCount === 0 || rowCount === 0) return;
  const image = new ImageData(columnCount, rowCount);
  for (const [at, shade] of shades.entries()) {
    if (shade < 0) continue;
    for (let channel = 0; channel < 3; channel += 1)
      image.data[at * 4 + channel] = ramp[shade * 3 + channel] ?? 0;
    image.data[at * 4 + 3] = 255;
  }
  const small = document.createElement('canvas');
  small.width = columnCount;
  small.height = rowCount;
  small.getContext('2d')?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  for (let column = 0; column < columnCount; column += 1) {
    const [left, right] = columnEdges(picture.lefts, column, ratio);
    context.drawImage(small, column, 0, 1, rowCount, left, 0, right - left, canvas.height);
  }
  paintBad(context, picture, ratio);
  const gap = Math.round(picture.rowGap * ratio);
  if (gap === 0) return;
  for (let row = 1; row <= rowCount; row += 1)
    context.clearRect(0, Math.round((row * canvas.height) / rowCount) - gap, canvas.width, gap);
}

/** Where a column begins and ends, in pixels of the canvas: at least one wide. */
function columnEdges(lefts: Float64Array, column: number, ratio: number): [number, number] {
  const left = Math.round((lefts[column] ?? 0) * ratio);
  return [left, Math.max(left + 1, Math.round((lefts[column + 1] ?? 0) * ratio))];
}

/** Stripes, which no ramp has: seen without any sense of colour. */
function paintBad(
  context: CanvasRenderingContext2D,
  { shades, columnCount, rowCount, lefts, bad }: HeatPicture,
  ratio: number,
): void {
  if (!shades.includes(BAD_SHADE)) return;
  const tile = document.createElement('canvas');
  const size = Math.max(4, Math.round(6 * ratio));
  tile.width = size;
  tile.height = size;
  const pen = tile.getContext('2d');
  if (pen === null) return;
  pen.fillStyle = bad.ground;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = bad.stripe;
  pen.lineWidth = size / 3;
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
    pen.stroke();
  }
  const pattern = context.createPattern(tile, 'repeat');
  if (pattern === null) return;
  context.fillStyle = pattern;
  const { height } = context.canvas;
  for (const [at, shade] of shades.entries()) {
    if (shade !== BAD_SHADE) continue;
    const row = Math.floor(at / columnCount);
    const [left, right] = columnEdges(lefts, at % columnCount, ratio);
    const top = Math.round((row * height) / rowCount);
    const foot = Math.round(((row + 1) * height) / rowCount);
    context.fillRect(left, top, right - left, foot - top);
  }
}
