// NCCL, or RCCL, which has the same names: loaded at run time by one table of symbols. Signatures and numbers are those
// of nccl.h; a result of 0 is success.
#pragma once

#include <array>
#include <string>

#include "gpu/gpu.hpp"

namespace shakedown::gpu_collectives {

using Comm = void*;
struct UniqueId {
  std::array<char, 128> bytes{};
};
inline constexpr int kNcclFloat = 7, kNcclUint64 = 5, kNcclSum = 0;
inline constexpr int kNcclInternal = 3, kNcclInvalid = 4, kNcclRemote = 6, kNcclInProgress = 7;

struct Nccl {
  int (*get_version)(int*) = nullptr;
  int (*unique_id)(UniqueId*) = nullptr;
  int (*init)(Comm*, int ranks, UniqueId, int rank) = nullptr;
  int (*destroy)(Comm) = nullptr;
  int (*abort)(Comm) = nullptr;
  int (*async_error)(Comm, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, Comm, gpu::Handle) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int type, int root, Comm, gpu::Handle) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int type, int op, int root, Comm, gpu::Handle) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int type, Comm, gpu::Handle) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int op, Comm, gpu::Handle) = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, Comm, gpu::Handle) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, Comm, gpu::Handle) = nullptr;
  const char* (*error_text)(int) = nullptr;
  const char* (*last_error)(Comm) = nullptr;  // null before 2.13

  std::string title;  // "NCCL 2.32.3"
  std::string path;   // of the file
  std::string how;    // "named", "the loader's", "this host's threads"

  /// "unhandled system error (2): " and what the library said last.
  [[nodiscard]] std::string words(int code) const;
};

/// The library at a path; "auto": as the loader finds libnccl.so.2, else librccl.so.1. Throws gpu::Failure: no_library.
Nccl load_nccl(const std::string& library);
/// The collectives of the host backend: threads of this host, each a rank.
Nccl host_nccl();

/// 23203 as "2.32.3"; up to 2.8 a version had one digit less for its second part.
std::string nccl_version_word(int version);

}  // namespace shakedown::gpu_collectives
