/* Heat conduction in a plate with cold edges, in C: saved every few steps, and continued where it was killed.
 *
 *   heat FOLDER ROWS COLUMNS STEPS EVERY     prints where it begins, each checkpoint, and the heat that is left */
#include <shakedown/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>

static void failed(const char* what, shakedown_ckpt* checkpoint) {
  fprintf(stderr, "heat: %s: %s\n", what, shakedown_ckpt_last_error(checkpoint));
}

/* One step of explicit differences; the outermost rows and columns stay as they are. */
static void advance(const double* u, double* next, size_t rows, size_t columns) {
  for (size_t i = 1; i + 1 < rows; ++i) {
    for (size_t j = 1; j + 1 < columns; ++j) {
      const size_t at = i * columns + j;
      const double along = (u[at - 1] - 2.0 * u[at]) + u[at + 1];
      const double across = (u[at - columns] - 2.0 * u[at]) + u[at + columns];
      next[at] = u[at] + 0.125 * (along + across);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: heat FOLDER ROWS COLUMNS STEPS EVERY\n");
    return 2;
  }
  const size_t rows = strtoul(argv[2], NULL, 10), columns = strtoul(argv[3], NULL, 10);
  const int64_t steps = atoll(argv[4]), every = atoll(argv[5]);
  double* u = calloc(rows * columns, sizeof *u);
  double* next = calloc(rows * columns, sizeof *next);
  if (u == NULL || next == NULL || every < 1) return 2;
  for (size_t i = 1; i + 1 < rows; ++i) {
    for (size_t j = 1; j + 1 < columns; ++j) u[i * columns + j] = (double)((i * 7 + j * 3) % 11);
  }
  int64_t step = 0;

  shakedown_ckpt_options options;
  shakedown_ckpt_options_init(&options);
  options.local = argv[1];
  shakedown_ckpt* checkpoint = NULL;
  if (shakedown_ckpt_open(NULL, &options, &checkpoint) != SHAKEDOWN_CKPT_OK) {
    failed("cannot begin", NULL);
    return 3;
  }
  const uint64_t shape[2] = {rows, columns}, offset[2] = {0, 0};
  shakedown_ckpt_protect(checkpoint, "step", &step, SHAKEDOWN_CKPT_INT64, 0, NULL, NULL, NULL);
  shakedown_ckpt_protect(checkpoint, "u", u, SHAKEDOWN_CKPT_FLOAT64, 2, shape, shape, offset);
  const int restored = shakedown_ckpt_restore(checkpoint, NULL);
  if (restored != SHAKEDOWN_CKPT_OK && restored != SHAKEDOWN_CKPT_NOTHING) {
    failed("cannot restore", checkpoint);
    return 3;
  }
  printf("begins at step %lld\n", (long long)step);
  while (step < steps) {
    for (size_t i = 0; i < rows * columns; ++i) next[i] = u[i];
    advance(next, u, rows, columns);
    if (++step % every != 0) continue; /* a real run asks shakedown_ckpt_due, which knows costs and failures */
    /* It is written while the program goes on; only to say here whether it was saved is it waited for. */
    if (shakedown_ckpt_checkpoint(checkpoint, SHAKEDOWN_CKPT_LOCAL) != SHAKEDOWN_CKPT_OK ||
        shakedown_ckpt_wait(checkpoint, -1) != SHAKEDOWN_CKPT_OK)
      failed("goes on without", checkpoint);
    else
      printf("saved step %lld\n", (long long)step);
    fflush(stdout);
  }
  shakedown_ckpt_close(checkpoint, SHAKEDOWN_CKPT_KEEP);
  double heat = 0.0;
  for (size_t i = 0; i < rows * columns; ++i) heat += u[i];
  printf("heat %.17g after step %lld\n", heat, (long long)step);
  free(u);
  free(next);
  return 0;
}
