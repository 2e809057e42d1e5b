/** WAV (RIFF, PCM of 16 bits): 44 bytes of header before the samples. Any player reads it, so no library is needed. */
import { invalidInput, SessionStoreError } from '../../base/errors.ts';

const HEADER_BYTES = 44;
const MAX_CHANNELS = 64;
const MAX_SAMPLE_RATE = 768_000;
/** Most samples of all channels: 64 MiB, twelve minutes of one channel at 44,100 Hz. */
const MAX_SAMPLES = 1 << 25;

/** Sound as it is recorded and read back. */
export type AudioSamples = {
  /** One array a channel, all of the same length, with samples from -1 to 1. */
  readonly channels: readonly Float32Array[];
  /** Frames a second. */
  readonly sampleRate: number;
};

/** What can be logged as audio: one channel, or several. Samples are from -1 to 1; what lies beyond is cut off. */
export type AudioInput = Float32Array | Float64Array | readonly (Float32Array | Float64Array)[];

/** @throws {QuarkError} `invalid_input` */
export function encodeWav(
  audio: unknown,
  sampleRate: unknown,
): {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly metadata: {
    readonly sampleRate: number;
    readonly channelCount: number;
    readonly frameCount: number;
  };
} {
  const channels = channelsOf(audio);
  if (
    typeof sampleRate !== 'number' ||
    !Number.isInteger(sampleRate) ||
    sampleRate < 1 ||
    sampleRate > MAX_SAMPLE_RATE
  )
    throw invalidInput('options.sampleRate', sampleRate, `an integer from 1 to ${MAX_SAMPLE_RATE}`);
  const frameCount = channels[0]?.length ?? 0;
  const channelCount = channels.length;
  const bytes = new Uint8Array(HEADER_BYTES + 2 * frameCount * channelCount);
  const view = new DataView(bytes.buffer);
  const mark = (at: number, text: string): void => {
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  };
  mark(0, 'RIFF');
  view.setUint32(4, bytes.byteLength - 8, true);
  mark(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channelCount, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * channelCount * 2, true);
  view.setUint16(32, channelCount * 2, true);
  view.setUint16(34, 16, true);
  mark(36, 'data');
  view.setUint32(40, bytes.byteLength - HEADER_BYTES, true);
  for (const [channel, samples] of channels.entries())
    for (let frame = 0; frame < frameCount; frame++) {
      const value = samples[frame] ?? 0;
      if (!Number.isFinite(value))
        throw invalidInput(`audio[${channel}][${frame}]`, value, 'a finite number');
      const level = Math.round(Math.min(1, Math.max(-1, value)) * 32_767);
      view.setInt16(HEADER_BYTES + 2 * (frame * channelCount + channel), level, true);
    }
  return { bytes, metadata: { sampleRate, channelCount, frameCount } };
}

function channelsOf(audio: unknown): readonly (Float32Array | Float64Array)[] {
  const list: unknown[] = Array.isArray(audio) ? audio : [audio];
  if (list.length === 0 || list.length > MAX_CHANNELS)
    throw invalidInput('audio.length', list.length, `1 to ${MAX_CHANNELS} channels`);
  const channels = list.map((channel, i) => {
    if (channel instanceof Float32Array || channel instanceof Float64Array) return channel;
    throw invalidInput(
      Array.isArray(audio) ? `audio[${i}]` : 'audio',
      channel,
      'a Float32Array or Float64Array',
    );
  });
  const frames = channels[0]?.length ?? 0;
  for (const [i, channel] of channels.entries())
    if (channel.length !== frames)
      throw invalidInput(
        `audio[${i}].length`,
        channel.length,
        `the length of the first channel, ${frames}`,
      );
  if (frames * channels.length > MAX_SAMPLES)
    throw invalidInput('audio.length', frames * channels.length, `at most ${MAX_SAMPLES} samples`);
  return channels;
}

/** Reads what {@link encodeWav} writes. @throws {SessionStoreError} `corrupt` */
export function decodeWav(bytes: Uint8Array): AudioSamples {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const channelCount = bytes.byteLength < HEADER_BYTES ? 0 : view.getUint16(22, true);
  const isOurs =
    channelCount > 0 &&
    view.getUint32(0) === 0x52494646 &&
    view.getUint16(20, true) === 1 &&
    view.getUint16(34, true) === 16 &&
    view.getUint32(40, true) === bytes.byteLength - HEADER_BYTES;
  if (!isOurs)
    throw new SessionStoreError('corrupt', 'An audio artifact is no WAV file of 16 bits.');
  const frames = Math.floor((bytes.byteLength - HEADER_BYTES) / (2 * channelCount));
  const channels = Array.from({ length: channelCount }, (_, channel) =>
    Float32Array.from(
      { length: frames },
      (_sample, frame) =>
        view.getInt16(HEADER_BYTES + 2 * (frame * channelCount + channel), true) / 32_767,
    ),
  );
  return { channels, sampleRate: view.getUint32(24, true) };
}
