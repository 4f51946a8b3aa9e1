// MPI from C++: the checks of bindings.c by the C++ wrapper, and C++ objects, exceptions and threads around MPI calls.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int size = 0;

void check(const char* name, bool failed) {
  int wrong = failed ? 1 : 0;
  int total = 0;
  MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("check %s %d\n", name, total);
}

void places() {
  std::vector<char> name(MPI_MAX_PROCESSOR_NAME);
  std::vector<char> all(rank == 0 ? name.size() * static_cast<std::size_t>(size) : 0);
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  const int width = static_cast<int>(name.size());
  MPI_Gather(name.data(), width, MPI_CHAR, all.data(), width, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::printf("world %d\n", size);
  for (int i = 0; i < size; ++i) std::printf("rank %d %s\n", i, all.data() + static_cast<std::size_t>(i) * name.size());
}

template <class T>
struct Type;
template <>
struct Type<double> {
  static MPI_Datatype get() { return MPI_DOUBLE; }
};
template <>
struct Type<int> {
  static MPI_Datatype get() { return MPI_INT; }
};
template <>
struct Type<std::complex<double>> {
  static MPI_Datatype get() { return MPI_CXX_DOUBLE_COMPLEX; }
};

template <class T>
std::vector<T> around(const std::vector<T>& out) {
  std::vector<T> in(out.size());
  const int n = static_cast<int>(out.size());
  MPI_Sendrecv(out.data(), n, Type<T>::get(), (rank + 1) % size, 3, in.data(), n, Type<T>::get(),
               (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return in;
}

void objects() {
  const int left = (rank + size - 1) % size;
  std::vector<double> numbers(5000);
  std::iota(numbers.begin(), numbers.end(), rank * 10000.0);
  std::vector<double> expected(5000);
  std::iota(expected.begin(), expected.end(), left * 10000.0);
  check("send_receive", around(numbers) != expected);

  const std::complex<double> mine(rank, -rank);
  const auto got = around(std::vector<std::complex<double>>{mine});
  check("complex", got[0] != std::complex<double>(left, -left));

  std::vector<int> all(static_cast<std::size_t>(size));
  const int cube = rank * rank * rank;
  MPI_Allgather(&cube, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  bool wrong = false;
  for (int i = 0; i < size; ++i) wrong = wrong || all[static_cast<std::size_t>(i)] != i * i * i;
  check("gather", wrong);
}

/// An operation of our own: the larger of two by absolute value, as C++ code that MPI calls back.
void by_magnitude(void* in, void* inout, int* n, MPI_Datatype*) {
  const auto* a = static_cast<const double*>(in);
  auto* b = static_cast<double*>(inout);
  for (int i = 0; i < *n; ++i)
    if (std::abs(a[i]) > std::abs(b[i])) b[i] = a[i];
}

void operations() {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(&by_magnitude, 1, &op);
  const double mine = rank % 2 == 0 ? rank : -rank;
  double most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  const int last = size - 1;
  check("operation", most != (last % 2 == 0 ? last : -last));
  MPI_Op_free(&op);
}

void exceptions() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int caught = 0;
  try {
    int value = 0;
    const int code = MPI_Send(&value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) throw std::runtime_error("no such rank");
  } catch (const std::runtime_error&) {
    caught = 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  check("errors", caught != 1);
}

void threads(int level) {
  int sum = 0;
  std::thread worker([&] {
    for (int i = 1; i <= 1000; ++i) sum += i;
  });
  int total = 0;
  MPI_Allreduce(&size, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  worker.join();
  check("threads", sum != 500500 || total != size * size || level < MPI_THREAD_FUNNELED);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was printed survives a crash
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  places();
  objects();
  operations();
  exceptions();
  threads(level);
  if (rank == 0) std::printf("done\n");
  MPI_Finalize();
  return 0;
}
