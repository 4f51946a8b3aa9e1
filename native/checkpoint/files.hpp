// Every operation on storage that the library makes, in one small table: tests put another in its place, which fails,
// hangs, forgets what was not flushed, or ends the process at the n-th operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shakedown::checkpoint {

/// What an operation gave: at or above 0 a result, below 0 the negative of errno.
using Result = std::int64_t;

/// kWriteNew: made, or emptied where a killed run left it. kWriteLarge: the same, past the page cache where the file
/// system can and data lie as its device needs them.
enum class OpenFor { kRead, kWriteNew, kWriteLarge };

class Files {
 public:
  virtual ~Files() = default;

  /// A handle, at or above 0.
  virtual Result open(const std::string& path, OpenFor purpose) = 0;
  /// Bytes read, fewer only at the end of the file.
  virtual Result read(Result handle, void* into, std::size_t bytes, std::uint64_t at) = 0;
  /// 0 when all bytes are written.
  virtual Result write(Result handle, const void* from, std::size_t bytes, std::uint64_t at) = 0;
  /// Reserves space, so that a full disk shows before anything is written. 0 also where the file system cannot.
  virtual Result reserve(Result handle, std::uint64_t bytes) = 0;
  virtual Result flush_data(Result handle) = 0;
  virtual Result flush(Result handle) = 0;
  virtual Result close(Result handle) = 0;
  virtual Result bytes_of(const std::string& path) = 0;
  virtual Result rename(const std::string& from, const std::string& to) = 0;
  virtual Result remove_file(const std::string& path) = 0;
  /// 0 also where the folder is there already.
  virtual Result make_folder(const std::string& path) = 0;
  virtual Result remove_folder(const std::string& path) = 0;
  virtual Result flush_folder(const std::string& path) = 0;
  /// Names in a folder, in no order.
  virtual Result list(const std::string& path, std::vector<std::string>& names) = 0;
  /// A lock on a file that is made if need be, until the handle is closed or the process ends: a handle, or
  /// -EWOULDBLOCK.
  virtual Result lock(const std::string& path) = 0;
};

/// The operating system's.
std::shared_ptr<Files> real_files();

/// "No space left on device" for -ENOSPC.
std::string words_of(Result error);

}  // namespace shakedown::checkpoint
