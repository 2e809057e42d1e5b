/** Images and sounds as files of an MLflow run, named as `mlflow.log_image` names them, so that its page shows images over steps. */
import type { SinkImage, SinkMedia, SinkSound } from './sink.ts';

/** A file of a run. */
export type MlflowFile = {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly type: string;
};

/** With what is added, a name stays within the 255 bytes that file systems have for it. */
const MAX_KEY_CHARS = 120;

/** The images and sounds of a batch. */
export function artifactsOf({ images, sounds }: SinkMedia): readonly MlflowFile[] {
  return [
    ...images.map((image): MlflowFile => {
      const { bytes, mimeType } = image;
      const suffix = mimeType === 'image/jpeg' ? 'jpg' : mimeType.slice('image/'.length);
      return { path: `images/${nameOf(image)}.${suffix}`, bytes, type: mimeType };
    }),
    ...sounds.map((sound): MlflowFile => {
      return { path: `audio/${nameOf(sound)}.wav`, bytes: sound.bytes, type: 'audio/wav' };
    }),
  ];
}

/** The same for the same artifact. */
function nameOf({ id, key, step, timeMs }: SinkImage | SinkSound): string {
  const plain = key
    .replace(/[^a-zA-Z0-9_\-./ ]/g, '_')
    .replace(/\//g, '#')
    .slice(0, MAX_KEY_CHARS);
  return `${plain}%step%${step ?? 0}%timestamp%${Math.trunc(timeMs)}%${id.replace(/_/g, '-')}`;
}
