/** Pictures of what is shown, as PNG. */
import { nextMessage } from '../../parts/turns.ts';

/** Pixels of a picture for each pixel of the page. */
const SCALE = 2;

/** A PNG of an SVG of this size, in twice its pixels. @throws Error where the browser cannot draw it */
export async function pngOfSvg(svg: string, width: number, height: number): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image(width, height);
    image.src = url;
    await image.decode();
    // The drawing is a task of its own.
    await nextMessage();
    const canvas = document.createElement('canvas');
    canvas.width = Math.round(width * SCALE);
    canvas.height = Math.round(height * SCALE);
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await pngOfCanvas(canvas);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** A PNG of a canvas as it is. @throws Error where the browser cannot encode it */
export function pngOfCanvas(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error(`A picture of ${canvas.width} by ${canvas.height}`));
      else resolve(blob);
    }, 'image/png');
  });
}
