/** Buffers and textures of WebGPU devices, counted as they are made and destroyed: a device does not tell. */

import { tapMethod } from '../../base/method-tap.ts';

/** The part of a `GPUDevice` that is watched. */
export interface WatchedDevice {
  createBuffer(descriptor: { readonly size: number }): { destroy(): void };
  createTexture?(descriptor: object): { destroy(): void };
}

/** Bytes of a texel of the formats that are used for numbers; others count as 4. */
const TEXEL_BYTES: Readonly<Record<string, number>> = {
  r8unorm: 1,
  r16float: 2,
  r32float: 4,
  rg32float: 8,
  rgba8unorm: 4,
  rgba16float: 8,
  rgba32float: 16,
};

/**
 * Counts the bytes of what a device makes from now on. What is dropped without `destroy()` is counted until it is collected as garbage.
 *
 * @returns the bytes, and the undo
 */
export function watchDevice(device: WatchedDevice): { bytes: () => number; close: () => void } {
  let total = 0;
  const collected =
    typeof FinalizationRegistry === 'function'
      ? new FinalizationRegistry<{ bytes: number }>((counted) => release(counted))
      : undefined;
  const release = (counted: { bytes: number }): void => {
    total -= counted.bytes;
    counted.bytes = 0;
  };
  const watch = (name: string, bytesOf: (descriptor: unknown) => number): (() => void) =>
    tapMethod(
      device,
      name,
      (original) =>
        function (this: unknown, ...values) {
          const made = original.apply(this, values);
          if (typeof made !== 'object' || made === null || !('destroy' in made)) return made;
          const counted = { bytes: bytesOf(values[0]) };
          total += counted.bytes;
          collected?.register(made, counted);
          tapMethod(
            made,
            'destroy',
            (destroy) =>
              function (this: unknown, ...rest) {
                release(counted);
                return destroy.apply(this, rest);
              },
          );
          return made;
        },
    );
  const undo = [watch('createBuffer', bufferBytes)];
  if (device.createTexture !== undefined) undo.push(watch('createTexture', textureBytes));
  return {
    bytes: () => total,
    close: () => undo.forEach((one) => one()),
  };
}

function bufferBytes(descriptor: unknown): number {
  const size = partOf(descriptor, 'size');
  return typeof size === 'number' && size > 0 ? size : 0;
}

/** Without mipmaps and multisampling, which textures of numbers have not. */
function textureBytes(descriptor: unknown): number {
  const size = partOf(descriptor, 'size');
  const sides: readonly unknown[] = Array.isArray(size)
    ? size
    : ['width', 'height', 'depthOrArrayLayers'].map((side) => partOf(size, side));
  let texels = 1;
  for (const side of sides) if (typeof side === 'number') texels *= side;
  const format = partOf(descriptor, 'format');
  return texels * (typeof format === 'string' ? (TEXEL_BYTES[format] ?? 4) : 4);
}

function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
