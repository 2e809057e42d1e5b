/** The checksum of a segment binds its bytes to its identity: bytes under a wrong name are damage too. */
import { segmentName } from '../records/shapes/manifest.ts';
import { xxh32 } from '../base/xxh32.ts';
import type { SegmentIdentity } from '../store/store.ts';

/** XXH32 of `bytes`, seeded with XXH32 of the identity's name in UTF-8. */
export function segmentChecksum(identity: SegmentIdentity, bytes: Uint8Array): number {
  return xxh32(bytes, checksumSeed(identity));
}

/** What the digest of the bytes begins from. */
export function checksumSeed(identity: SegmentIdentity): number {
  return xxh32(new TextEncoder().encode(segmentName(identity)));
}
