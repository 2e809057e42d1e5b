// The sorted sample of a series from which its buckets are chosen.
export const SAMPLES: i32 = 1024;

const sample: usize = memory.data(SAMPLES * 8, 16);

export function setSample(i: i32, bits: u64): void {
  store<u64>(sample + ((<usize>i) << 3), bits);
}

export function sampleAt(i: i32, size: i32): f64 {
  return load<f64>(sample + ((<usize>min(size - 1, max(0, i))) << 3));
}

/** Shell sort: the sample is small. */
export function sortSample(size: i32): void {
  for (let gap = size >> 1; gap > 0; gap = gap == 2 ? 1 : <i32>(<f64>gap / 2.2)) {
    for (let i = gap; i < size; i++) {
      const value = sampleAt(i, size);
      let j = i;
      while (j >= gap && sampleAt(j - gap, size) > value) {
        store<f64>(sample + ((<usize>j) << 3), sampleAt(j - gap, size));
        j -= gap;
      }
      store<f64>(sample + ((<usize>j) << 3), value);
    }
  }
}

/** Where a rank lies in the sample. */
export function inSample(rank: i32, count: i32, size: i32): i32 {
  return <i32>((<f64>rank / <f64>count) * <f64>size);
}
