#include "files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace shakedown::checkpoint {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // the kernel moves at most 2 GiB a call
constexpr std::uint64_t kDirectUnit = 4096;                // what devices want addresses and lengths to be multiples of
constexpr std::size_t kWorthStarting = std::size_t{1} << 20;

Result ended(int status) { return status < 0 ? -errno : 0; }

/// A call again as long as a signal of the application interrupts it.
template <class Call>
auto restarted(Call&& call) {
  auto status = call();
  while (status < 0 && errno == EINTR) status = call();
  return status;
}

/// What follows goes through the page cache. True where it did not before.
bool leave_direct(int handle) {
  const int flags = ::fcntl(handle, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0 && ::fcntl(handle, F_SETFL, flags & ~O_DIRECT) == 0;
}

class RealFiles final : public Files {
 public:
  Result open(const std::string& path, OpenFor purpose) override {
    const int flags = purpose == OpenFor::kRead ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    const auto opened = [&](int more) {
      return restarted([&] { return ::open(path.c_str(), flags | more | O_CLOEXEC | O_NOFOLLOW, 0644); });
    };
    int handle = opened(purpose == OpenFor::kWriteLarge ? O_DIRECT : 0);
    if (handle < 0 && errno == EINVAL) handle = opened(0);  // a file system without it
    return handle < 0 ? -errno : handle;
  }

  Result read(Result handle, void* into, std::size_t bytes, std::uint64_t at) override {
    std::size_t done = 0;
    while (done < bytes) {
      const std::size_t part = std::min(bytes - done, kMostAtOnce);
      const ssize_t moved = restarted([&] {
        return ::pread(static_cast<int>(handle), static_cast<char*>(into) + done, part, static_cast<off_t>(at + done));
      });
      if (moved < 0) return -errno;
      if (moved == 0) break;
      done += static_cast<std::size_t>(moved);
    }
    return static_cast<Result>(done);
  }

  Result write(Result handle, const void* from, std::size_t bytes, std::uint64_t at) override {
    const int file = static_cast<int>(handle);
    std::size_t done = 0;
    while (done < bytes) {
      const std::size_t part = std::min(bytes - done, kMostAtOnce);
      const char* begin = static_cast<const char*>(from) + done;
      if ((reinterpret_cast<std::uintptr_t>(begin) | part | (at + done)) % kDirectUnit != 0) leave_direct(file);
      const ssize_t moved = restarted([&] { return ::pwrite(file, begin, part, static_cast<off_t>(at + done)); });
      if (moved < 0 && errno == EINVAL && leave_direct(file)) continue;  // the device wants more than that
      if (moved < 0) return -errno;
      if (moved == 0) return -EIO;  // no progress, no error: not tried without end
      done += static_cast<std::size_t>(moved);
    }
    // The device begins with what lies in the page cache, so that the flush in the end waits for little. A hint.
    if (bytes >= kWorthStarting)
      ::sync_file_range(file, static_cast<off_t>(at), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
    return 0;
  }

  Result reserve(Result handle, std::uint64_t bytes) override {
    if (bytes == 0) return 0;
    const int status =
        restarted([&] { return ::fallocate(static_cast<int>(handle), 0, 0, static_cast<off_t>(bytes)); });
    if (status == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return 0;
    return -errno;
  }

  Result flush_data(Result handle) override { return ended(::fdatasync(static_cast<int>(handle))); }
  Result flush(Result handle) override { return ended(::fsync(static_cast<int>(handle))); }
  Result close(Result handle) override { return ended(::close(static_cast<int>(handle))); }

  Result bytes_of(const std::string& path) override {
    struct stat found = {};
    if (::stat(path.c_str(), &found) < 0) return -errno;
    return S_ISREG(found.st_mode) ? static_cast<Result>(found.st_size) : -EISDIR;
  }

  Result rename(const std::string& from, const std::string& to) override {
    return ended(::rename(from.c_str(), to.c_str()));
  }
  Result remove_file(const std::string& path) override { return ended(::unlink(path.c_str())); }

  Result make_folder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0755) == 0) return 0;
    const int error = errno;
    struct stat found = {};
    if (error == EEXIST && ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return 0;
    return -error;
  }

  Result remove_folder(const std::string& path) override { return ended(::rmdir(path.c_str())); }

  Result flush_folder(const std::string& path) override {
    const int handle = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return -errno;
    const Result flushed = ended(::fsync(handle));
    ::close(handle);
    return flushed == -EINVAL ? 0 : flushed;  // file systems without a flush of folders: their renames are durable
  }

  Result list(const std::string& path, std::vector<std::string>& names) override {
    DIR* folder = ::opendir(path.c_str());
    if (folder == nullptr) return -errno;
    errno = 0;
    for (const dirent* entry = ::readdir(folder); entry != nullptr; entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    const Result result = -errno;
    ::closedir(folder);
    return result;
  }

  Result lock(const std::string& path) override {
    const int handle = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (handle < 0) return -errno;
    if (::flock(handle, LOCK_EX | LOCK_NB) == 0) return handle;
    const int error = errno;
    ::close(handle);
    return -error;
  }
};

}  // namespace

std::shared_ptr<Files> real_files() {
  static const auto files = std::make_shared<RealFiles>();
  return files;
}

std::string words_of(Result error) {
  char text[128] = "";
  return ::strerror_r(static_cast<int>(-error), text, sizeof text);  // the GNU form: gives the text
}

}  // namespace shakedown::checkpoint
