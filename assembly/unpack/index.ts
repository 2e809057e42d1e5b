// The binary interface of what unpacks segments: bytes in linear memory. A module of its own, which readers of merged segments load.
// Pointers are byte offsets; src/codecs/packed/unpack-module.ts says what may be read and written behind each.
export { digest } from './digest';
export { inflate } from './inflate';
export { joinPairs, joinWords, joinLongs } from './planes';
export { heapBase } from '../series/memory';
