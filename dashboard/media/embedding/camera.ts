/** Where points in space are seen on a picture. Pure. */

/** How a cloud of points is looked at. */
export type Camera = {
  /** Turn about the vertical and the horizontal axis, in radians. */
  readonly yaw: number;
  readonly pitch: number;
  readonly zoom: number;
  /** Shift in shares of the picture. */
  readonly panX: number;
  readonly panY: number;
};

/** How a cloud is looked at first. */
export const FIRST_CAMERA: Camera = { yaw: 0.5, pitch: 0.35, zoom: 1, panX: 0, panY: 0 };

/** Positions on a picture, in pixels, and how near to the eye each point is. */
export type Seen = {
  readonly xs: Float32Array;
  readonly ys: Float32Array;
  readonly depths: Float32Array;
};

/** Points along their directions. */
export type PointCloud = {
  /** `[count, stride]`: coordinates along two or three directions; the others are ignored. */
  readonly positions: Float64Array;
  readonly stride: number;
  /** Largest distance of a point from the middle. */
  readonly radius: number;
  readonly is3d: boolean;
};

/** Points on a picture of this size. */
export function seenPoints(
  { is3d, positions, radius, stride }: PointCloud,
  camera: Camera,
  size: { readonly width: number; readonly height: number },
): Seen {
  const count = positions.length / stride;
  const xs = new Float32Array(count);
  const ys = new Float32Array(count);
  const depths = new Float32Array(count);
  const scale = (Math.min(size.width, size.height) / 2 / (radius || 1)) * 0.92 * camera.zoom;
  const [sinYaw, cosYaw] = [Math.sin(camera.yaw), Math.cos(camera.yaw)];
  const [sinPitch, cosPitch] = [Math.sin(camera.pitch), Math.cos(camera.pitch)];
  for (let i = 0; i < count; i += 1) {
    let x = positions[i * stride] ?? 0;
    let y = stride > 1 ? (positions[i * stride + 1] ?? 0) : 0;
    let z = is3d && stride > 2 ? (positions[i * stride + 2] ?? 0) : 0;
    if (is3d) {
      [x, z] = [x * cosYaw - z * sinYaw, x * sinYaw + z * cosYaw];
      [y, z] = [y * cosPitch - z * sinPitch, y * sinPitch + z * cosPitch];
    }
    xs[i] = size.width * (0.5 + camera.panX) + x * scale;
    ys[i] = size.height * (0.5 + camera.panY) - y * scale;
    depths[i] = z / (radius || 1);
  }
  return { xs, ys, depths };
}

/** Largest distance of a point from the middle, along the directions that are shown. */
export function radiusOf(positions: Float64Array, stride: number, shown: number): number {
  let most = 0;
  for (let at = 0; at < positions.length; at += stride) {
    let square = 0;
    for (let d = 0; d < Math.min(shown, stride); d += 1) square += (positions[at + d] ?? 0) ** 2;
    most = Math.max(most, square);
  }
  return Math.sqrt(most);
}

/** Index of the point nearest to a position, within a distance; undefined where there is none. */
export function pointAt(
  { xs, ys }: Seen,
  x: number,
  y: number,
  within: number,
): number | undefined {
  let best: number | undefined;
  let least = within ** 2;
  for (const [i, px] of xs.entries()) {
    const distance = (px - x) ** 2 + ((ys[i] ?? 0) - y) ** 2;
    if (distance > least) continue;
    least = distance;
    best = i;
  }
  return best;
}

const TURN = 0.12;
const SHIFT = 0.06;
const ZOOM = 1.25;

/** The camera after a key; undefined where the key says nothing. */
export function cameraByKey(key: string, camera: Camera, is3d: boolean): Camera | undefined {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
    key
  ] ?? [0, 0];
  if (dx !== 0 || dy !== 0)
    return is3d
      ? { ...camera, yaw: camera.yaw + (dx ?? 0) * TURN, pitch: camera.pitch + (dy ?? 0) * TURN }
      : { ...camera, panX: camera.panX - (dx ?? 0) * SHIFT, panY: camera.panY - (dy ?? 0) * SHIFT };
  if (key === '+' || key === '=') return { ...camera, zoom: Math.min(64, camera.zoom * ZOOM) };
  if (key === '-') return { ...camera, zoom: Math.max(0.25, camera.zoom / ZOOM) };
  return key === '0' ? FIRST_CAMERA : undefined;
}
