// The limit the kernels are measured against: the plainest reading of memory there is, eight float32x4 sums side by side.
// AssemblyScript, compiled by bench/kernels.mjs alone.
export function sum(p: usize, count: i32): f32 {
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  for (const end = p + ((<usize>count) << 2); p < end; p += 128) {
    a = f32x4.add(a, v128.load(p));
    b = f32x4.add(b, v128.load(p, 16));
    c = f32x4.add(c, v128.load(p, 32));
    d = f32x4.add(d, v128.load(p, 48));
    e = f32x4.add(e, v128.load(p, 64));
    f = f32x4.add(f, v128.load(p, 80));
    g = f32x4.add(g, v128.load(p, 96));
    h = f32x4.add(h, v128.load(p, 112));
  }
  a = f32x4.add(
    f32x4.add(f32x4.add(a, b), f32x4.add(c, d)),
    f32x4.add(f32x4.add(e, f), f32x4.add(g, h)),
  );
  return (
    f32x4.extract_lane(a, 0) +
    f32x4.extract_lane(a, 1) +
    f32x4.extract_lane(a, 2) +
    f32x4.extract_lane(a, 3)
  );
}
