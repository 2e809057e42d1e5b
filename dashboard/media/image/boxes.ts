/** Boxes and masks that a program put into the metadata of an image. Pure; whatever does not fit is left out. */
import type { MediaItem } from 'quark-sdk/media';

/** A box, in pixels of its image. */
export type ImageBox = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly label: string | undefined;
  readonly score: number | undefined;
};

/** Most boxes that are drawn on one image. */
const MAX_BOXES = 500;
const MAX_LABEL_CHARS = 60;

/** Boxes of `metadata.boxes`: `{ x, y, width, height, label, score }`. */
export function boxesOf({ user }: Pick<MediaItem, 'user'>): readonly ImageBox[] {
  const given = user?.['boxes'];
  if (!Array.isArray(given)) return [];
  return given.slice(0, MAX_BOXES).flatMap((box): ImageBox[] => {
    if (typeof box !== 'object' || box === null || Array.isArray(box)) return [];
    const [x, y, width, height, score] = ['x', 'y', 'width', 'height', 'score'].map((name) => {
      const value: unknown = Reflect.get(box, name);
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    });
    if (x === undefined || y === undefined || width === undefined || height === undefined)
      return [];
    const label: unknown = Reflect.get(box, 'label');
    const text = typeof label === 'string' ? label.slice(0, MAX_LABEL_CHARS) : undefined;
    return [{ x, y, width: Math.max(0, width), height: Math.max(0, height), label: text, score }];
  });
}

/** Name of the image that is its mask: `metadata.mask`. */
export function maskKeyOf({ user }: Pick<MediaItem, 'user'>): string | undefined {
  const mask = user?.['mask'];
  return typeof mask === 'string' ? mask : undefined;
}
