// The speed of the machine itself: compiled with -O3 -march=native where there is a C++ compiler, and asked over standard input,
// one line `case repetitions` at a time; answers the milliseconds of one repetition.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int BINS = 64;
volatile float floatSink = 0;
volatile uint32_t countSink = 0;

std::vector<float> normal(size_t length) {
  std::vector<float> values(length);
  uint64_t state = 88172645463325252ull;
  auto uniform = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  for (auto& value : values)
    value = static_cast<float>(std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()));
  return values;
}

void sum(const std::vector<float>& values) {
#if defined(__AVX2__)
  __m256 sums[8];
  for (auto& s : sums) s = _mm256_setzero_ps();
  for (size_t i = 0; i + 64 <= values.size(); i += 64)
    for (int k = 0; k < 8; k++) sums[k] = _mm256_add_ps(sums[k], _mm256_loadu_ps(&values[i + 8 * k]));
  for (int k = 1; k < 8; k++) sums[0] = _mm256_add_ps(sums[0], sums[k]);
  float lanes[8];
  _mm256_storeu_ps(lanes, sums[0]);
  floatSink = lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
#else
  float sums[8] = {};
  for (size_t i = 0; i + 8 <= values.size(); i += 8)
    for (int k = 0; k < 8; k++) sums[k] += values[i + k];
  floatSink = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
#endif
}

// Four sub-histograms, so that equal neighbours do not wait for one another's store; values outside the range are clamped.
void histogram(const std::vector<float>& values, float low, float high) {
  static uint32_t tables[4][BINS];
  std::memset(tables, 0, sizeof tables);
  const float scale = BINS / (high - low);
#if defined(__AVX2__)
  const __m256 low8 = _mm256_set1_ps(low);
  const __m256 scale8 = _mm256_set1_ps(scale);
  const __m256i zero8 = _mm256_setzero_si256();
  const __m256i top8 = _mm256_set1_epi32(BINS - 1);
  alignas(32) uint32_t cells[16];
  for (size_t i = 0; i + 16 <= values.size(); i += 16) {
    for (int half = 0; half < 2; half++) {
      const __m256 x = _mm256_loadu_ps(&values[i + 8 * half]);
      __m256i cell = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_sub_ps(x, low8), scale8));
      cell = _mm256_min_epi32(_mm256_max_epi32(cell, zero8), top8);
      _mm256_store_si256(reinterpret_cast<__m256i*>(cells + 8 * half), cell);
    }
    for (int k = 0; k < 16; k++) tables[k & 3][cells[k]]++;
  }
#else
  for (size_t i = 0; i < values.size(); i++) {
    int cell = static_cast<int>((values[i] - low) * scale);
    cell = cell < 0 ? 0 : cell >= BINS ? BINS - 1 : cell;
    tables[i & 3][cell]++;
  }
#endif
  for (int bin = 0; bin < BINS; bin++)
    countSink = tables[0][bin] + tables[1][bin] + tables[2][bin] + tables[3][bin];
}

}  // namespace

int main() {
  const auto cached = normal(65536);
  const auto million = normal(1000000);
  const auto large = normal(16777216);
  std::puts("ready");
  std::fflush(stdout);
  char name[64];
  int repetitions;
  while (std::scanf("%63s %d", name, &repetitions) == 2) {
    const std::string what = name;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repetitions; i++) {
      if (what == "sum256K") sum(cached);
      else if (what == "sum64M") sum(large);
      else if (what == "histogram") histogram(million, -5, 5);
      else return 1;
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    std::printf("%.9g\n", spent.count() / repetitions);
    std::fflush(stdout);
  }
}
