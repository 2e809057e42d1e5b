export const CHROMIUM_ARGS: string[];
export const WEBGL_ARGS: string[];
export function findChromium(): Promise<string>;
export const WEBGPU_ARGS: string[];
