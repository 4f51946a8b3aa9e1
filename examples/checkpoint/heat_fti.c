/* Heat conduction in a rod, its rows dealt out among MPI ranks, as a program that was written for FTI: of the port
 * only the three lines at the top are new.
 *
 *   heat_fti CONFIG CELLS STEPS EVERY     saves each EVERY steps at levels 1 to 4 in turn; prints where it begins, each
 *                                         checkpoint, and the heat that is left */
#define SHAKEDOWN_FTI_NAMES
#define SHAKEDOWN_FTI_IMPLEMENTATION
#include <shakedown/checkpoint_fti.h>
/* was: #include <fti.h> */
#include <stdio.h>
#include <stdlib.h>

/* The cells at both ends, from the neighbours; the rod's own ends are cold. */
static void exchange(double* u, int cells, int rank, int size) {
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(u + 1, 1, MPI_DOUBLE, left, 0, u + cells + 1, 1, MPI_DOUBLE, right, 0, FTI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(u + cells, 1, MPI_DOUBLE, right, 1, u, 1, MPI_DOUBLE, left, 1, FTI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5 || FTI_Init(argv[1], MPI_COMM_WORLD) != FTI_SCES) {
    MPI_Finalize();
    return argc == 5 ? 3 : 2;
  }
  int rank = 0, size = 1, step = 0;
  MPI_Comm_rank(FTI_COMM_WORLD, &rank);
  MPI_Comm_size(FTI_COMM_WORLD, &size);
  const int cells = atoi(argv[2]), steps = atoi(argv[3]), every = atoi(argv[4]);
  double* u = calloc((size_t)cells + 2, sizeof *u);
  double* next = calloc((size_t)cells + 2, sizeof *next);
  if (u == NULL || next == NULL || cells < 1 || every < 1) MPI_Abort(FTI_COMM_WORLD, 2);
  for (int i = 1; i <= cells; ++i) u[i] = (double)(((rank * cells + i) * 7) % 11);
  FTI_Protect(0, &step, 1, FTI_INTG);
  FTI_Protect(1, u, cells + 2, FTI_DBLE);
  if (FTI_Status() != 0 && FTI_Recover() != FTI_SCES) MPI_Abort(FTI_COMM_WORLD, 3);
  if (rank == 0) printf("begins at step %d\n", step);
  while (step < steps) {
    exchange(u, cells, rank, size);
    for (int i = 1; i <= cells; ++i) next[i] = u[i] + 0.25 * ((u[i - 1] - 2.0 * u[i]) + u[i + 1]);
    for (int i = 1; i <= cells; ++i) u[i] = next[i];
    if (++step % every != 0) continue;
    const int done = FTI_Checkpoint(step, 1 + step / every % 4);
    if (rank == 0 && done == FTI_DONE) printf("saved step %d\n", step);
    fflush(stdout);
  }
  double heat = 0, all = 0;
  for (int i = 1; i <= cells; ++i) heat += u[i];
  MPI_Reduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, 0, FTI_COMM_WORLD);
  if (rank == 0) printf("heat %.17g after step %d\n", all, step);
  const int ended = FTI_Finalize();
  free(u);
  free(next);
  MPI_Finalize();
  return ended == FTI_SCES ? 0 : 3;
}
