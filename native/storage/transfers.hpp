// Reading and writing one file, so many transfers at a time: by plain calls, io_uring, Linux's AIO, or MPI-IO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/error.hpp"

namespace shakedown::storage {

/// How transfers are made. MPI-IO: independent, or collective (all ranks call together).
enum class Engine { automatic, calls, uring, aio, mpi, mpi_collective };
const char* name_of(Engine engine);

/// What to open: a file, to read or to write, made where `create`; `direct`: O_DIRECT.
struct Opening {
  std::string path;
  bool write = false;
  bool create = false;
  bool exclusive = false;
  bool direct = false;
  bool alone = true;  // MPI-IO: one rank's own file, not one of all ranks
};

/// One transfer that is under way: `bytes` of `data` at `offset`.
struct Transfer {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
};

/// One open file. For one thread. What fails throws an Error that names the file.
class Transfers {
 public:
  virtual ~Transfers() = default;
  /// Start a transfer in a free slot below the depth. What `data` points to stays as it is until the slot comes back.
  virtual void start(std::size_t slot, const Transfer& what) = 0;
  /// Wait for any transfer that was started. Its slot and its bytes: fewer than wanted at the file's end, in reading.
  struct Done {
    std::size_t slot;
    std::size_t bytes;
  };
  virtual Done next() = 0;
  /// On the device when it returns.
  virtual void sync() = 0;
  virtual void close() = 0;
};

/// Which engine `asked` is here, for so many transfers in flight. Throws where the kernel has no such thing: Linux's
/// AIO waits within its calls without O_DIRECT.
Engine choose_engine(Engine asked, std::size_t depth, bool direct);
std::unique_ptr<Transfers> open_transfers(Engine engine, const Opening& opening, std::size_t depth);

/// In words with errno, and what to do about it.
Error io_failed(const std::string& what);
/// What may be left of the last sample goes, so that the file is a new one. Where it cannot, the reason is that of the
/// storage: a name that is then found to exist says nothing.
void remove_before(const std::string& path);
int open_file(const Opening& opening);

/// Declared alike by mpi_io.cpp and, in a build without an MPI, by no_mpi_io.cpp.
struct MpiJob {
  /// Starts MPI. Throws where this program was built without one, or the job's ranks are not MPI's.
  MpiJob(int rank, int size);
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  std::string version;
};
std::unique_ptr<Transfers> open_mpi(const Opening& opening, bool collective);

}  // namespace shakedown::storage
