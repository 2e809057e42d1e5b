/** What a profile says, in sentences and units. */
import type { ProfileFinding } from 'quark-sdk/profiler';
import { formatCount, formatMeasuredSpan, formatValue } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { binaryBytes } from '../facts/environment-words.ts';

/** A value of a measure with its unit. */
export function measureText(measure: string, value: number): string {
  if (measure.endsWith('_bytes')) return value < 0 ? `−${binaryBytes(-value)}` : binaryBytes(value);
  return measure.endsWith('_count') ? formatCount(value) : formatValue(value);
}

/** What a measure is called in a sentence. */
export function measureName(measure: string): string {
  switch (measure) {
    case 'rss_bytes':
      return t('resident memory');
    case 'heap_bytes':
      return t('the JavaScript heap');
    case 'external_bytes':
      return t('memory outside the heap');
    case 'array_buffer_bytes':
      return t('memory of array buffers');
    case 'wasm_bytes':
      return t('WebAssembly memory');
    case 'tensor_count':
      return t('the number of tensors');
    case 'tensor_bytes':
      return t('memory of tensors');
    case 'tensor_gpu_bytes':
      return t('memory of tensors on the GPU');
    case 'webgpu_bytes':
      return t('memory of WebGPU buffers');
    case 'gpu_bytes':
      return t('GPU memory');
    case 'page_bytes':
      return t('memory of the page');
    default:
      return measure.replaceAll('_', ' ');
  }
}

/** A finding as a sentence. */
export function profileFindingText(finding: ProfileFinding): string {
  switch (finding.kind) {
    case 'peak': {
      const { measure, path, rise, value } = finding;
      return t('Peak of {measure}: {value}, in {path}. That is {rise} more than at the start.', {
        measure: measureName(measure),
        value: measureText(measure, value),
        path: path.join(' › '),
        rise: measureText(measure, rise),
      });
    }
    case 'growth': {
      const { culprit, measure, perTime, scopeName, times, total } = finding;
      const grown = t(
        'Growth of {measure}: {each} with each "{scope}", {total} in {times} of them.',
        {
          measure: measureName(measure),
          each: measureText(measure, perTime),
          scope: scopeName,
          total: measureText(measure, total),
          times: formatCount(times),
        },
      );
      return culprit === null
        ? grown
        : `${grown} ${t('"{scope}" does not give it back.', { scope: culprit })}`;
    }
    case 'not_training': {
      const { parts, share } = finding;
      const percent = Math.round(100 * share);
      const named = parts.slice(0, 3).map(({ ms, name }) => `${name} ${formatMeasuredSpan(ms)}`);
      return named.length === 0
        ? t('{percent} % of the time is not training.', { percent })
        : t('{percent} % of the time is not training: {parts}.', {
            percent,
            parts: named.join(', '),
          });
    }
  }
}
