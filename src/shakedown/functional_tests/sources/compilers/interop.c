/* The C part of the program of three languages. */
#include <stddef.h>
#include <string.h>

struct point {
  int id;
  double x[3];
  char tag;
};

#ifdef WITH_CXX
int interop_guarded(int n, const double *values, int (*callback)(int));
#else
static int interop_guarded(int n, const double *values, int (*callback)(int)) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += (int)values[i];
  return callback(sum);
}
#endif

int interop_sum(struct point *p, int n, double *values, int (*callback)(int)) {
  const int answer = interop_guarded(n, values, callback);
  p->id += 1;
  p->x[2] *= 10;
  if (p->tag == 'q') p->tag = 'z';
  for (int i = 0; i < n; ++i) values[i] *= 2;
  return answer;
}

size_t interop_text(const char *name) { return strlen(name); }
