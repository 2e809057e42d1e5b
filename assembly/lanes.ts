// Loads and horizontal reductions that the kernels share. Small enough that -O3 inlines them (no decorators: the formatter cannot read them).

/** The low two of four float32 lanes as float64. */
export function lowF64(v: v128): v128 {
  return f64x2.promote_low_f32x4(v);
}

/** The high two of four float32 lanes as float64. */
export function highF64(v: v128): v128 {
  return f64x2.promote_low_f32x4(i64x2.shuffle(v, v, 1, 0));
}

/** Elements `at` and `at + 1` of four elements at `p`, as float64. */
export function firstPair<T>(p: usize): v128 {
  if (sizeof<T>() == 8) return v128.load(p);
  if (isFloat<T>()) return f64x2.promote_low_f32x4(v128.load64_zero(p));
  if (sizeof<T>() == 4) return f64x2.convert_low_i32x4_s(v128.load64_zero(p));
  return f64x2.convert_low_i32x4_u(
    i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(i16x8.splat(<i16>load<u16>(p)))),
  );
}

/** The other two of four elements at `p`, as float64. */
export function secondPair<T>(p: usize): v128 {
  return firstPair<T>(p + 2 * sizeof<T>());
}

export function sumF64x2(v: v128): f64 {
  return f64x2.extract_lane(v, 0) + f64x2.extract_lane(v, 1);
}

export function sumI32x4(v: v128): i32 {
  return (
    i32x4.extract_lane(v, 0) +
    i32x4.extract_lane(v, 1) +
    i32x4.extract_lane(v, 2) +
    i32x4.extract_lane(v, 3)
  );
}

export function laneSum(v: v128): i64 {
  return i64x2.extract_lane(v, 0) + i64x2.extract_lane(v, 1);
}

export function sumI64x2(v: v128): f64 {
  return <f64>laneSum(v);
}

export function minF32x4(v: v128): f32 {
  return min(
    min(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    min(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)),
  );
}

export function maxF32x4(v: v128): f32 {
  return max(
    max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)),
  );
}

export function maxI32x4(v: v128): i32 {
  return max(
    max(i32x4.extract_lane(v, 0), i32x4.extract_lane(v, 1)),
    max(i32x4.extract_lane(v, 2), i32x4.extract_lane(v, 3)),
  );
}

export function maxU32x4(v: v128): u32 {
  return max(
    max(<u32>i32x4.extract_lane(v, 0), <u32>i32x4.extract_lane(v, 1)),
    max(<u32>i32x4.extract_lane(v, 2), <u32>i32x4.extract_lane(v, 3)),
  );
}

export function minU32x4(v: v128): u32 {
  return min(
    min(<u32>i32x4.extract_lane(v, 0), <u32>i32x4.extract_lane(v, 1)),
    min(<u32>i32x4.extract_lane(v, 2), <u32>i32x4.extract_lane(v, 3)),
  );
}
