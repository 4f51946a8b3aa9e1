/* Integer and floating-point arithmetic in C. Every line printed is a name and a value that compilers.py knows exactly;
   doubles are printed as their bits. The values of volatile variables are unknown to the compiler. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__INTEL_LLVM_COMPILER) || defined(__INTEL_COMPILER)
#define IDENTITY "intel"
#elif defined(__NVCOMPILER) || defined(__PGI)
#define IDENTITY "nvidia"
#elif defined(_CRAYC) || defined(__cray__)
#define IDENTITY "cray"
#elif defined(__ARM_LINUX_COMPILER__) || defined(__armclang_version__)
#define IDENTITY "arm"
#elif defined(__clang__)
#define IDENTITY "clang"
#elif defined(__GNUC__)
#define IDENTITY "gnu"
#else
#define IDENTITY "unknown"
#endif

static uint64_t bits(double x) {
  uint64_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

static uint32_t bits_of_float(float x) {
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

static int64_t next(int64_t x) { return (INT64_C(1103515245) * x + 12345) % INT64_C(2147483648); }

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void integers(void) {
  int64_t x = 1;
  for (int i = 0; i < 1000; ++i) x = next(x);
  printf("lcg %" PRId64 "\n", x);

  volatile int64_t minus = -7, three = 3;
  printf("divide %" PRId64 "\n", (minus / three) * 100 + minus % three);

  int64_t count = 0, word = 1;
  for (int i = 0; i < 100; ++i) {
    word = next(word);
    const int64_t mixed = (word ^ (word >> 7)) & INT64_C(0x55555555);
    for (int bit = 0; bit < 31; ++bit) count += (mixed >> bit) & 1;
  }
  printf("bits %" PRId64 "\n", count);

  enum { n = 32 };
  static int64_t a[n][n], b[n][n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] = (i + 1) * 3 - (j + 1) * 2, b[i][j] = (i + 1) * (j + 1) % 17;
  int64_t trace = 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) trace += a[i][k] * b[k][i];
  printf("matrix %" PRId64 "\n", trace);

  enum { m = 1000 };
  static int64_t values[m];
  x = 42;
  for (int i = 0; i < m; ++i) values[i] = x = next(x);
  qsort(values, m, sizeof values[0], ascending);
  int64_t hash = 0;
  for (int i = 0; i < m; ++i) hash = (hash * 31 + values[i]) % INT64_C(1000000007);
  printf("sort %" PRId64 "\n", hash);
}

static void reals(void) {
  double sum = 0, product = 1, roots = 0, total = 0, lost = 0;
  for (int i = 1; i <= 100000; ++i) sum += 1.0 / i;
  for (int i = 1; i <= 1000; ++i) product *= 1.0 + 1.0 / ((double)i * i);
  for (int i = 1; i <= 1000; ++i) roots += sqrt((double)i);
  volatile double tenth = 0.1, fifth = 0.2, zero = 0.0, one = 1.0, tiny = 2.2250738585072014e-308;
  for (int i = 0; i < 100000; ++i) {
    const double term = tenth - lost, next_total = total + term;
    lost = (next_total - total) - term;
    total = next_total;
  }
  float short_sum = 0;
  for (int i = 1; i <= 10000; ++i) short_sum += 1.0f / (float)i;
  const double quiet = zero / zero;
  printf("sum %016" PRIx64 "\n", bits(sum));
  printf("product %016" PRIx64 "\n", bits(product));
  printf("roots %016" PRIx64 "\n", bits(roots));
  printf("rounding %016" PRIx64 "\n", bits(tenth + fifth));
  printf("compensated %016" PRIx64 "\n", bits(total));
  printf("single %08" PRIx32 "\n", bits_of_float(short_sum));
  printf("subnormal %016" PRIx64 "\n", bits(tiny / 1024));
  printf("infinity %016" PRIx64 "\n", bits(one / zero));
  printf("nan %d\n", quiet != quiet);
}

#if __STDC_VERSION__ >= 201112L
#define KIND(x) _Generic((x), int : 1, double : 2, char * : 3, default : 0)
#endif

static void language(void) {
  char text[64];
  snprintf(text, sizeof text, "%.17g|%5d|%-4s|", 0.1, 42, "ab");
  printf("text %s\n", text);
  struct {
    unsigned low : 3;
    unsigned high : 5;
  } field = {.low = 13 & 7, .high = 21};
  printf("fields %d\n", (int)(field.low * 100 + field.high));
#ifdef KIND
  printf("generic %d\n", KIND(1) * 100 + KIND(1.0) * 10 + KIND(text + 0));
#else
  printf("generic absent\n");
#endif
}

int main(void) {
  printf("identity " IDENTITY "\n");
  integers();
  reals();
  language();
  return 0;
}
