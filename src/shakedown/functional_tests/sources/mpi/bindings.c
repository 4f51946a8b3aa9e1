/* MPI from C: every check has a result that is known; rank 0 prints one line each, with the number of ranks on which it
   failed. The same checks stand in bindings.F90 for each of Fortran's bindings, and in bindings.cpp for C++. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(const char *name, int failed) {
  int wrong = failed != 0, total = 0;
  MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("check %s %d\n", name, total);
}

/* Whether a call that an MPI may refuse on this network or file system was refused on any rank; then rank 0 says so. */
static int refused(const char *name, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int worst = code, length = 0;
  MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (worst == MPI_SUCCESS) return 0;
  MPI_Error_string(worst, text, &length);
  if (rank == 0) printf("absent %s %s\n", name, text);
  return 1;
}

static void places(void) {
  char name[MPI_MAX_PROCESSOR_NAME] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "", *all = NULL;
  int length = 0, version = 0, subversion = 0;
  MPI_Get_processor_name(name, &length);
  if (rank == 0) all = malloc((size_t)size * MPI_MAX_PROCESSOR_NAME);
  MPI_Gather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("world %d\n", size);
  for (int i = 0; i < size; ++i) printf("rank %d %s\n", i, all + (size_t)i * MPI_MAX_PROCESSOR_NAME);
  free(all);
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = 0;
  MPI_Get_version(&version, &subversion);
  printf("fact library %s\nfact standard %d.%d\n", library, version, subversion);
}

static int pattern(int from, int i) { return from * 1000003 + i * 7; }

static void point_to_point(void) {
  enum { small = 16, large = 1 << 18 };
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int *out = malloc(sizeof(int) * large), *in = malloc(sizeof(int) * large), wrong = 0, count = 0;
  MPI_Status status;
  for (int which = 0; which < 2; ++which) { /* one that is sent at once, one that must be agreed on */
    const int n = which == 0 ? small : large;
    for (int i = 0; i < n; ++i) out[i] = pattern(rank, i), in[i] = -1;
    MPI_Sendrecv(out, n, MPI_INT, right, 7, in, n, MPI_INT, left, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    wrong += count != n || status.MPI_SOURCE != left || status.MPI_TAG != 7;
    for (int i = 0; i < n; ++i) wrong += in[i] != pattern(left, i);
  }
  check("send_receive", wrong);

  MPI_Request requests[2];
  MPI_Status statuses[2];
  wrong = 0;
  for (int i = 0; i < large; ++i) in[i] = -1;
  MPI_Irecv(in, large, MPI_INT, right, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, large, MPI_INT, left, 8, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  for (int i = 0; i < large; ++i) wrong += in[i] != pattern(right, i);
  check("nonblocking", wrong);

  wrong = 0;
  if (rank == 0) {
    int seen = 0;
    for (int i = 1; i < size; ++i) {
      int value = 0;
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += value != status.MPI_SOURCE * 11 || status.MPI_TAG != status.MPI_SOURCE + 100;
      seen += status.MPI_SOURCE;
    }
    wrong += seen != size * (size - 1) / 2;
  } else {
    const int value = rank * 11;
    MPI_Send(&value, 1, MPI_INT, 0, rank + 100, MPI_COMM_WORLD);
  }
  check("any_source", wrong);
  free(out);
  free(in);
}

static void collectives(void) {
  double values[3] = {0, 0, 0}, sums[3], expected;
  int wrong = 0, *all = malloc(sizeof(int) * (size_t)size), *back = malloc(sizeof(int) * (size_t)size), total = 0;
  if (rank == 0) values[0] = 1.5, values[1] = -2.25, values[2] = 1e300;
  MPI_Bcast(values, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  check("broadcast", values[0] != 1.5 || values[1] != -2.25 || values[2] != 1e300);

  values[0] = rank + 1, values[1] = -rank, values[2] = 0.5;
  MPI_Allreduce(values, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expected = size * (size + 1) / 2.0;
  wrong = sums[0] != expected || sums[1] != -(expected - size) || sums[2] != 0.5 * size;
  struct {
    double value;
    int place;
  } mine = {(rank * 7 + 3) % size, rank}, most;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  double highest = -1;
  int at = 0;
  for (int i = 0; i < size; ++i)
    if ((i * 7 + 3) % size > highest) highest = (i * 7 + 3) % size, at = i;
  check("reduce", wrong || most.value != highest || most.place != at);

  const int square = rank * rank;
  MPI_Allgather(&square, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (wrong = 0, total = 0; total < size; ++total) wrong += all[total] != total * total;
  check("gather", wrong);

  for (int i = 0; i < size; ++i) all[i] = rank * size + i;
  MPI_Alltoall(all, 1, MPI_INT, back, 1, MPI_INT, MPI_COMM_WORLD);
  wrong = 0;
  for (int i = 0; i < size; ++i) wrong += back[i] != i * size + rank;
  check("all_to_all", wrong);

  const int one = rank + 1;
  MPI_Scan(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check("scan", total != (rank + 1) * (rank + 2) / 2);
  free(all);
  free(back);

  MPI_Comm half;
  int half_size = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_size(half, &half_size);
  MPI_Comm_rank(half, &total);
  const int members = rank % 2 == 0 ? (size + 1) / 2 : size / 2;
  check("split", half_size != members || total != members - 1 - rank / 2);
  MPI_Comm_free(&half);
}

struct record {
  char tag;
  double x;
  int n[3];
};

static void derived_types(void) {
  enum { n = 8 };
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int matrix[n][n], column[n], wrong = 0;
  MPI_Datatype strided, structure, sized;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) matrix[i][j] = rank * 100 + i * n + j;
  MPI_Type_vector(n, 1, n, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Sendrecv(&matrix[0][3], 1, strided, right, 1, column, n, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) wrong += column[i] != left * 100 + i * n + 3;
  MPI_Type_free(&strided);

  struct record mine[2] = {{'a', rank + 0.5, {rank, 2, 3}}, {'b', rank + 0.25, {4, rank, 6}}}, theirs[2];
  memset(theirs, 0, sizeof theirs);
  const int lengths[3] = {1, 1, 3};
  const MPI_Aint places_of[3] = {offsetof(struct record, tag), offsetof(struct record, x), offsetof(struct record, n)};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(3, lengths, places_of, types, &structure);
  MPI_Type_create_resized(structure, 0, sizeof(struct record), &sized);
  MPI_Type_commit(&sized);
  MPI_Sendrecv(mine, 2, sized, left, 2, theirs, 2, sized, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  wrong += theirs[0].tag != 'a' || theirs[0].x != right + 0.5 || theirs[0].n[0] != right || theirs[0].n[2] != 3;
  wrong += theirs[1].tag != 'b' || theirs[1].x != right + 0.25 || theirs[1].n[1] != right || theirs[1].n[0] != 4;
  MPI_Type_free(&structure);
  MPI_Type_free(&sized);
  check("derived_types", wrong);
}

static void one_sided(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int *base = NULL, wrong = 0, got = -1;
  MPI_Win window;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (refused("put_get", code)) {
    refused("fetch_and_op", code);
    return;
  }
  for (int i = 0; i < 4; ++i) base[i] = 0;
  MPI_Win_fence(0, window);
  const int value = rank * 3 + 1, one = 1;
  MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  wrong += base[0] != left * 3 + 1 || (rank == 0 && base[1] != size);
  MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  wrong += got != value;
  check("put_get", wrong);

  int *tickets = malloc(sizeof(int) * (size_t)size), ticket = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 2, MPI_SUM, window);
  MPI_Win_unlock(0, window);
  MPI_Allgather(&ticket, 1, MPI_INT, tickets, 1, MPI_INT, MPI_COMM_WORLD);
  wrong = 0;
  for (int i = 0; i < size; ++i) {
    int found = 0;
    for (int j = 0; j < size; ++j) found += tickets[j] == i;
    wrong += found != 1;
  }
  free(tickets);
  check("fetch_and_op", wrong);
  MPI_Win_free(&window);
}

static void files(const char *path) {
  enum { n = 1000 };
  int *out = malloc(sizeof(int) * n), *in = malloc(sizeof(int) * n), wrong = 0;
  const int other = size - 1 - rank;
  MPI_File file;
  for (int i = 0; i < n; ++i) out[i] = pattern(rank, i), in[i] = -1;
  const int code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                 MPI_INFO_NULL, &file);
  if (!refused("file", code)) {
    wrong += MPI_File_write_at_all(file, (MPI_Offset)rank * n * (int)sizeof(int), out, n, MPI_INT, MPI_STATUS_IGNORE) !=
             MPI_SUCCESS;
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    wrong += MPI_File_read_at_all(file, (MPI_Offset)other * n * (int)sizeof(int), in, n, MPI_INT, MPI_STATUS_IGNORE) !=
             MPI_SUCCESS;
    for (int i = 0; i < n; ++i) wrong += in[i] != pattern(other, i);
    MPI_File_close(&file);
    check("file", wrong);
  }
  free(out);
  free(in);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what was printed survives a crash */
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level); /* more than that switches one-sided transports off */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  places();
  if (rank == 0)
    printf("fact threads %s\n", level == MPI_THREAD_MULTIPLE     ? "multiple"
                                : level == MPI_THREAD_SERIALIZED ? "serialized"
                                : level == MPI_THREAD_FUNNELED   ? "funneled"
                                                                 : "single");
  point_to_point();
  collectives();
  derived_types();
  one_sided();
  if (argc > 1) files(argv[1]);
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
