#include "transfers.hpp"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace shakedown::storage {
namespace {

constexpr std::array<const char*, 6> kEngines = {"auto", "calls", "io_uring", "aio", "mpi-io", "mpi-io-collective"};

/// A file by its descriptor, and what all engines do alike.
class OpenFile : public Transfers {
 public:
  explicit OpenFile(const Opening& opening) : path_(opening.path), write_(opening.write), fd_(open_file(opening)) {}
  ~OpenFile() override {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  void sync() override {
    if (fsync(fd_) != 0) throw io_failed("fsync of " + path_);
  }
  void close() override {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && ::close(fd) != 0) throw io_failed("closing " + path_);
  }

 protected:
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool writes() const { return write_; }
  [[noreturn]] void fail() const { throw io_failed((write_ ? "writing " : "reading ") + path_); }
  /// What is left of a transfer after some bytes of it, by plain calls.
  [[nodiscard]] std::size_t rest(const Transfer& what, std::size_t done) const {
    while (done < what.bytes) {
      const auto at = static_cast<off_t>(what.offset + done);
      const ssize_t now = write_ ? pwrite(fd_, what.data + done, what.bytes - done, at)
                                 : pread(fd_, what.data + done, what.bytes - done, at);
      if (now < 0 && errno == EINTR) continue;
      if (now < 0 || (now == 0 && write_)) fail();
      if (now == 0) break;
      done += static_cast<std::size_t>(now);
    }
    return done;
  }

 private:
  std::string path_;
  bool write_;
  int fd_;
};

/// pread and pwrite: a transfer has ended when start returns.
class ByCalls final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  void start(std::size_t slot, const Transfer& what) override { done_ = {slot, rest(what, 0)}; }
  Done next() override { return done_; }

 private:
  Done done_{};
};

/// What is in flight, by its slot, for the engines of the kernel.
class InFlight : public OpenFile {
 public:
  InFlight(const Opening& opening, std::size_t depth) : OpenFile(opening), transfers_(depth) {}

 protected:
  Transfer& in(std::size_t slot) { return transfers_[slot]; }
  /// A slot that the kernel gave back with its result: a short one is made whole here, as it hardly ever is.
  Done ended(std::size_t slot, std::int64_t result) {
    if (result == -EINTR || result == -EAGAIN) result = 0;
    if (result < 0) {
      errno = static_cast<int>(-result);
      fail();
    }
    return {slot, rest(transfers_[slot], static_cast<std::size_t>(result))};
  }

 private:
  std::vector<Transfer> transfers_;
};

int uring_setup(unsigned entries, io_uring_params* params) {
  return static_cast<int>(syscall(SYS_io_uring_setup, entries, params));
}

int uring_enter(int ring, unsigned submit, unsigned wait, unsigned flags) {
  return static_cast<int>(syscall(SYS_io_uring_enter, ring, submit, wait, flags, nullptr, 0));
}

/// Memory that the kernel shares with us.
class Mapped {
 public:
  Mapped(int fd, std::size_t bytes, std::uint64_t at) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(at));
    if (data_ == MAP_FAILED) throw io_failed("mapping the ring of io_uring");  // NOLINT(performance-no-int-to-ptr)
  }
  ~Mapped() { munmap(data_, bytes_); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  template <class T>
  [[nodiscard]] T* at(std::uint32_t offset) const {
    return reinterpret_cast<T*>(static_cast<std::uint8_t*>(data_) + offset);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// io_uring(7), by its calls alone: every transfer is submitted at once, as the device should not wait.
class ByUring final : public InFlight {
 public:
  ByUring(const Opening& opening, std::size_t depth)
      : InFlight(opening, depth),
        ring_(uring_setup(static_cast<unsigned>(depth), &params_)),
        submissions_(ring_.fd(), params_.sq_off.array + params_.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING),
        completions_(ring_.fd(), params_.cq_off.cqes + params_.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING),
        entries_(ring_.fd(), params_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES) {}

  ~ByUring() override {
    // What the kernel still works on must not be freed: wait for all.
    while (flying_ > 0 && uring_enter(ring_.fd(), 0, 1, IORING_ENTER_GETEVENTS) >= 0) take();
  }
  ByUring(const ByUring&) = delete;
  ByUring& operator=(const ByUring&) = delete;

  void start(std::size_t slot, const Transfer& what) override {
    in(slot) = what;
    auto* tail = submissions_.at<unsigned>(params_.sq_off.tail);
    const unsigned mask = *submissions_.at<unsigned>(params_.sq_off.ring_mask);
    const unsigned at = *tail & mask;
    io_uring_sqe& entry = entries_.at<io_uring_sqe>(0)[at];
    entry = {};
    entry.opcode = writes() ? IORING_OP_WRITE : IORING_OP_READ;
    entry.fd = fd();
    entry.addr = reinterpret_cast<std::uint64_t>(what.data);
    entry.len = static_cast<unsigned>(what.bytes);
    entry.off = what.offset;
    entry.user_data = slot;
    submissions_.at<unsigned>(params_.sq_off.array)[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    int submitted = -1;
    while ((submitted = uring_enter(ring_.fd(), 1, 0, 0)) < 0 && (errno == EINTR || errno == EAGAIN)) {
    }
    if (submitted < 1) throw io_failed("io_uring_enter");
    ++flying_;
  }

  Done next() override {
    while (!take()) {
      if (uring_enter(ring_.fd(), 0, 1, IORING_ENTER_GETEVENTS) < 0 && errno != EINTR)
        throw io_failed("io_uring_enter");
    }
    return ended(slot_, result_);
  }

 private:
  /// Take one completion, where there is one.
  bool take() {
    auto* head = completions_.at<unsigned>(params_.cq_off.head);
    if (*head == __atomic_load_n(completions_.at<unsigned>(params_.cq_off.tail), __ATOMIC_ACQUIRE)) return false;
    const unsigned mask = *completions_.at<unsigned>(params_.cq_off.ring_mask);
    const io_uring_cqe& entry = completions_.at<io_uring_cqe>(params_.cq_off.cqes)[*head & mask];
    slot_ = entry.user_data;
    result_ = entry.res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    --flying_;
    return true;
  }

  io_uring_params params_{};
  Descriptor ring_;
  Mapped submissions_, completions_, entries_;
  std::size_t flying_ = 0;
  std::size_t slot_ = 0;
  std::int64_t result_ = 0;
};

/// io_submit(2): in flight where the file was opened with O_DIRECT.
class ByAio final : public InFlight {
 public:
  ByAio(const Opening& opening, std::size_t depth) : InFlight(opening, depth), blocks_(depth) {
    if (syscall(SYS_io_setup, static_cast<unsigned>(depth), &context_) != 0) throw io_failed("io_setup");
  }
  ~ByAio() override { syscall(SYS_io_destroy, context_); }  // which waits for what is in flight
  ByAio(const ByAio&) = delete;
  ByAio& operator=(const ByAio&) = delete;

  void start(std::size_t slot, const Transfer& what) override {
    in(slot) = what;
    iocb& block = blocks_[slot];
    block = {};
    block.aio_lio_opcode = writes() ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
    block.aio_fildes = static_cast<unsigned>(fd());
    block.aio_buf = reinterpret_cast<std::uint64_t>(what.data);
    block.aio_nbytes = what.bytes;
    block.aio_offset = static_cast<std::int64_t>(what.offset);
    block.aio_data = slot;
    std::array<iocb*, 1> list = {&block};
    long submitted = -1;
    while ((submitted = syscall(SYS_io_submit, context_, 1L, list.data())) < 0 && (errno == EINTR || errno == EAGAIN)) {
    }
    if (submitted != 1) throw io_failed("io_submit");
  }

  Done next() override {
    io_event event{};
    while (true) {
      const long got = syscall(SYS_io_getevents, context_, 1L, 1L, &event, nullptr);
      if (got == 1) return ended(event.data, event.res);
      if (got < 0 && errno != EINTR) throw io_failed("io_getevents");
    }
  }

 private:
  aio_context_t context_ = 0;
  std::vector<iocb> blocks_;
};

bool uring_works() {
  io_uring_params params{};
  const Descriptor ring(uring_setup(1, &params));
  return ring.fd() >= 0;
}

bool aio_works() {
  aio_context_t context = 0;
  return syscall(SYS_io_setup, 1U, &context) == 0 && syscall(SYS_io_destroy, context) == 0;
}

}  // namespace

const char* name_of(Engine engine) { return kEngines[static_cast<std::size_t>(engine)]; }

Error io_failed(const std::string& what) {
  const int number = errno;
  std::string hint;
  if (number == ENOSPC) hint = "free some space, or make the files smaller (--size) or fewer (--files)";
  if (number == EDQUOT) hint = "the quota is used up: make the files smaller (--size) or fewer (--files)";
  if (number == EROFS) hint = "it is mounted for reading only, or became so after an error: dmesg says more";
  if (number == EIO || number == ESTALE || number == ENOTCONN || number == ENODEV || number == ESHUTDOWN ||
      number == ETIMEDOUT)
    hint = "the storage failed or has gone: dmesg and the server's log say more";
  if (number == EINVAL)
    hint = "O_DIRECT takes blocks that the device's sectors divide: other --blocks, or --cache dropped";
  return cannot(what + " failed: " + std::strerror(number), hint);
}

void remove_before(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) throw io_failed("removing " + path);
}

int open_file(const Opening& opening) {
  const int made = opening.create ? O_CREAT | (opening.exclusive ? O_EXCL : 0) : 0;
  const int flags = (opening.write ? O_WRONLY : O_RDONLY) | made | (opening.direct ? O_DIRECT : 0) | O_CLOEXEC;
  const int fd = ::open(opening.path.c_str(), flags, 0600);
  if (fd < 0) throw io_failed("opening " + opening.path);
  return fd;
}

Engine choose_engine(Engine asked, std::size_t depth, bool direct) {
  if (asked == Engine::mpi || asked == Engine::mpi_collective) return asked;
  if (asked == Engine::calls || (asked == Engine::automatic && depth == 1)) {
    if (depth > 1) throw usage("--engine calls makes one transfer at a time", "--depth 1, or more --threads");
    return Engine::calls;
  }
  if (asked != Engine::aio && uring_works()) return Engine::uring;
  if (asked == Engine::uring) {
    throw cannot(std::string("this kernel offers no io_uring: ") + std::strerror(errno),
                 "kernel.io_uring_disabled = 0 allows it; --engine aio, or more --threads, do without");
  }
  if (!direct)
    throw cannot("Linux's AIO keeps nothing in flight without O_DIRECT", "--cache direct, or more --threads");
  if (!aio_works()) {
    throw cannot(std::string("this kernel offers neither io_uring nor AIO: ") + std::strerror(errno),
                 "--depth 1, and more --threads");
  }
  return Engine::aio;
}

std::unique_ptr<Transfers> open_transfers(Engine engine, const Opening& opening, std::size_t depth) {
  switch (engine) {
    case Engine::uring:
      return std::make_unique<ByUring>(opening, depth);
    case Engine::aio:
      return std::make_unique<ByAio>(opening, depth);
    case Engine::mpi:
    case Engine::mpi_collective:
      return open_mpi(opening, engine == Engine::mpi_collective);
    case Engine::automatic:
    case Engine::calls:
      break;
  }
  return std::make_unique<ByCalls>(opening);
}

}  // namespace shakedown::storage
