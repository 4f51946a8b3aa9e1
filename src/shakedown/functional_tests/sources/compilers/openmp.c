/* OpenMP in C (and in C++, which includes this file): a reduction, threads that really ran, tasks, a dynamic schedule.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int fibonacci(int n) {
  int a = 0, b = 0;
  if (n < 2) return n;
#pragma omp task shared(a) if (n > 12)
  a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 12)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

int main(void) {
  long long sum = 0;
  int seen[64] = {0}, threads = 0, atomic_count = 0, result = 0, wrong = 0;
  static int filled[10000];
#pragma omp parallel for reduction(+ : sum)
  for (int i = 1; i <= 1000000; ++i) sum += i;
#pragma omp parallel num_threads(4)
  {
    const int me = omp_get_thread_num();
    if (me < 64) seen[me] = 1;
#pragma omp for schedule(dynamic, 7)
    for (int i = 0; i < 10000; ++i) {
      filled[i] += i;
#pragma omp atomic
      atomic_count += 1;
    }
#pragma omp single
    result = fibonacci(20);
  }
  for (int i = 0; i < 64; ++i) threads += seen[i];
  for (int i = 0; i < 10000; ++i) wrong += filled[i] != i;
  printf("omp_sum %lld\n", sum);
  printf("omp_threads %d\n", threads);
  printf("omp_atomic %d\n", atomic_count);
  printf("omp_tasks %d\n", result);
  printf("omp_wrong %d\n", wrong);
  printf("fact_openmp %d\n", _OPENMP);
  return 0;
}
