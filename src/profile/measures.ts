/** What a profile measures, by the names under which it is stored. */

/** A measure: its unit, and what it says. */
export type ProfileMeasure = {
  readonly unit: string;
  readonly definition: string;
};

/** The measures that Quark takes itself. Which of them a profile has depends on the platform. */
export const PROFILE_MEASURES = {
  rss_bytes: { unit: 'bytes', definition: 'Resident memory of the process.' },
  rss_peak_bytes: {
    unit: 'bytes',
    definition: 'Most resident memory of the process since the checkpoint before.',
  },
  children_rss_bytes: { unit: 'bytes', definition: 'Resident memory of all child processes.' },
  heap_bytes: { unit: 'bytes', definition: 'JavaScript heap in use.' },
  external_bytes: {
    unit: 'bytes',
    definition: 'Memory of objects outside the JavaScript heap, array buffers among them.',
  },
  array_buffer_bytes: { unit: 'bytes', definition: 'Memory of array buffers.' },
  wasm_bytes: { unit: 'bytes', definition: 'WebAssembly memories that were named.' },
  tensor_count: { unit: 'tensors', definition: 'Tensors of TensorFlow.js that are alive.' },
  tensor_bytes: { unit: 'bytes', definition: 'Bytes of the tensors of TensorFlow.js.' },
  tensor_gpu_bytes: { unit: 'bytes', definition: 'Memory that TensorFlow.js has on the GPU.' },
  webgpu_bytes: {
    unit: 'bytes',
    definition: 'Buffers and textures of the WebGPU devices watched.',
  },
  gpu_bytes: {
    unit: 'bytes',
    definition: 'Memory in use on all visible GPUs, read after the checkpoint.',
  },
  page_bytes: {
    unit: 'bytes',
    definition: 'Memory of the page with workers and frames, read after the checkpoint.',
  },
  disk_read_bytes: {
    unit: 'bytes',
    definition: 'Bytes read from disks since the profile began, child processes included.',
  },
  disk_write_bytes: {
    unit: 'bytes',
    definition: 'Bytes written to disks since the profile began, child processes included.',
  },
  network_bytes: {
    unit: 'bytes',
    definition: 'Bytes of the resources that the page has loaded since the profile began.',
  },
} as const satisfies Readonly<Record<string, ProfileMeasure>>;

/** The name of a measure that Quark takes itself. */
export type MeasureName = keyof typeof PROFILE_MEASURES;

/** Numbers by the names of their measures: those of {@link PROFILE_MEASURES}, and those of metrics of one's own. */
export type ProfileValues = Readonly<Record<string, number>>;

/** Of these, the memory that a scope needed is told: the most in it, and the difference from start to end. */
export const MEMORY_MEASURES = [
  'rss_bytes',
  'heap_bytes',
  'external_bytes',
  'array_buffer_bytes',
  'wasm_bytes',
  'tensor_count',
  'tensor_bytes',
  'tensor_gpu_bytes',
  'webgpu_bytes',
  'gpu_bytes',
  'page_bytes',
] as const satisfies readonly MeasureName[];

/** A metric of the user, as a profile remembers it. */
export type MetricNote = ProfileMeasure & {
  readonly name: string;
  readonly kind: 'checkpoint' | 'summary';
};
