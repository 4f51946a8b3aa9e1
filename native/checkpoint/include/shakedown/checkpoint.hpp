// Checkpoints of C++ programs: checkpoint.h as a session that closes itself, with types and shapes from the arguments.
// Header only, C++20; link libshakedown_checkpoint. With MPI include checkpoint_mpi.h too.
//
// What is wrong in a program (a name, a shape, an option) throws Error. What happens to a run (a full disk, a rank that
// does not answer) is a Status: the run goes on without this checkpoint.
//
//   using namespace shakedown::ckpt;
//   Options options;
//   options.local = "/local/job";
//   Session session(options);
//   session.protect("step", step);
//   session.protect("u", std::span(u), Box{{rows, columns}, {all_rows, columns}, {first_row, 0}});
//   if (const Status restored = session.restore(); !restored && restored.code != SHAKEDOWN_CKPT_NOTHING) complain();
//   while (step < steps) {
//     advance();
//     if (const int level = session.due(); level != 0) session.checkpoint(level);
//   }
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "checkpoint.h"

namespace shakedown::ckpt {

/// How a call ended: true where it did what it should.
struct [[nodiscard]] Status {
  int code = SHAKEDOWN_CKPT_OK;
  std::string text;  // what failed, where, and what that means
  explicit operator bool() const { return code == SHAKEDOWN_CKPT_OK; }
};

struct Error : std::runtime_error {
  explicit Error(const Status& status) : std::runtime_error(status.text), code(status.code) {}
  int code;
};

/// The options of checkpoint.h with their defaults.
struct Options : shakedown_ckpt_options {
  Options() : shakedown_ckpt_options{} { shakedown_ckpt_options_init(this); }
};

/// The part of an array of all ranks that this rank holds, in C order (the last index is the fastest).
struct Box {
  std::vector<std::uint64_t> shape;         // of the part
  std::vector<std::uint64_t> global_shape;  // of the whole array
  std::vector<std::uint64_t> offset;        // where the part begins in it
};

/// Where a part lies in memory that is larger, with ghost layers around it.
struct Inside {
  std::vector<std::uint64_t> memory_shape;
  std::vector<std::uint64_t> memory_offset;
};

/// The library's type of an element. Other trivially copyable types are bytes: saved as they are, never converted.
template <class T>
constexpr shakedown_ckpt_type type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return SHAKEDOWN_CKPT_UINT8;
  } else if constexpr (std::is_integral_v<U>) {
    constexpr bool kSigned = std::is_signed_v<U>;
    if constexpr (sizeof(U) == 1) return kSigned ? SHAKEDOWN_CKPT_INT8 : SHAKEDOWN_CKPT_UINT8;
    if constexpr (sizeof(U) == 2) return kSigned ? SHAKEDOWN_CKPT_INT16 : SHAKEDOWN_CKPT_UINT16;
    if constexpr (sizeof(U) == 4) return kSigned ? SHAKEDOWN_CKPT_INT32 : SHAKEDOWN_CKPT_UINT32;
    if constexpr (sizeof(U) == 8) return kSigned ? SHAKEDOWN_CKPT_INT64 : SHAKEDOWN_CKPT_UINT64;
  } else if constexpr (std::is_same_v<U, float>) {
    return SHAKEDOWN_CKPT_FLOAT32;
  } else if constexpr (std::is_same_v<U, double>) {
    return SHAKEDOWN_CKPT_FLOAT64;
  } else if constexpr (std::is_same_v<U, std::complex<float>>) {
    return SHAKEDOWN_CKPT_COMPLEX64;
  } else if constexpr (std::is_same_v<U, std::complex<double>>) {
    return SHAKEDOWN_CKPT_COMPLEX128;
  } else {
    return SHAKEDOWN_CKPT_BYTES;
  }
}

template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_const_v<T>;

class Session {
 public:
  /// Throws Error where the folders cannot be used. `comm` is of shakedown_ckpt_comm_of; null is one rank alone.
  explicit Session(const Options& options, const shakedown_ckpt_comm* comm = nullptr) {
    if (const int code = shakedown_ckpt_open(comm, &options, &handle_); code != SHAKEDOWN_CKPT_OK)
      throw Error({code, shakedown_ckpt_last_error(nullptr)});
  }
  ~Session() {
    if (handle_ != nullptr) shakedown_ckpt_close(handle_, SHAKEDOWN_CKPT_KEEP);
  }
  Session(Session&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Waits for what is being written; the checkpoints stay, or go where the work is done.
  Status close(shakedown_ckpt_policy policy = SHAKEDOWN_CKPT_KEEP) {
    if (handle_ == nullptr) return {};
    const int code = shakedown_ckpt_close(std::exchange(handle_, nullptr), policy);
    return {code, code == SHAKEDOWN_CKPT_OK ? "" : shakedown_ckpt_last_error(nullptr)};
  }

  // What is protected stays where it is until unprotect or the end of the session. Throw Error for what does not fit.

  /// One value that is equal on all ranks: a time, a count of steps.
  template <Element T>
  void protect(const std::string& name, T& value) {
    if constexpr (type_of<T>() == SHAKEDOWN_CKPT_BYTES) {
      protect(name, std::span<T>(&value, 1));
    } else {
      require(shakedown_ckpt_protect(handle_, name.c_str(), &value, type_of<T>(), 0, nullptr, nullptr, nullptr));
    }
  }

  /// An array of this rank alone: restored onto the same number of ranks only.
  template <Element T>
  void protect(const std::string& name, std::span<T> own) {
    const std::uint64_t elements = type_of<T>() == SHAKEDOWN_CKPT_BYTES ? own.size_bytes() : own.size();
    require(shakedown_ckpt_protect(handle_, name.c_str(), own.data(), type_of<T>(), 1, &elements, nullptr, nullptr));
  }

  /// A part of an array of all ranks.
  template <Element T>
  void protect(const std::string& name, std::span<T> part, const Box& box) {
    protect(name, part, box, {box.shape, std::vector<std::uint64_t>(box.shape.size(), 0)});
  }

  /// The same inside larger memory, which is `memory`.
  template <Element T>
  void protect(const std::string& name, std::span<T> memory, const Box& box, const Inside& inside) {
    static_assert(type_of<T>() != SHAKEDOWN_CKPT_BYTES, "an array of all ranks has elements of a known type");
    const std::size_t dimensions = box.shape.size();
    if (box.global_shape.size() != dimensions || box.offset.size() != dimensions ||
        inside.memory_shape.size() != dimensions || inside.memory_offset.size() != dimensions)
      throw Error({SHAKEDOWN_CKPT_INVALID, name + ": shapes and offsets have different numbers of dimensions"});
    std::uint64_t elements = 1;
    for (const auto length : inside.memory_shape) elements *= length;
    if (elements != memory.size())
      throw Error({SHAKEDOWN_CKPT_INVALID, name + ": the shape has " + std::to_string(elements) +
                                               " elements, the memory " + std::to_string(memory.size())});
    require(shakedown_ckpt_protect_inside(handle_, name.c_str(), memory.data(), type_of<T>(),
                                          static_cast<int>(dimensions), box.shape.data(), box.global_shape.data(),
                                          box.offset.data(), inside.memory_shape.data(), inside.memory_offset.data()));
  }

  void unprotect(const std::string& name) { require(shakedown_ckpt_unprotect(handle_, name.c_str())); }

  // COLLECTIVE, as in checkpoint.h.

  /// The level at which a checkpoint should be made now; 0: none.
  [[nodiscard]] int due() {
    int level = 0;
    require(shakedown_ckpt_due(handle_, &level));
    return level;
  }
  Status checkpoint(int level) { return status(shakedown_ckpt_checkpoint(handle_, level)); }
  /// All that is protected, or one name of it. The code is SHAKEDOWN_CKPT_NOTHING for a fresh start.
  Status restore() { return status(shakedown_ckpt_restore(handle_, nullptr)); }
  Status restore(const std::string& name) { return status(shakedown_ckpt_restore(handle_, name.c_str())); }
  /// Restores at the first call, later makes a checkpoint where one is due.
  Status snapshot(shakedown_ckpt_did* did = nullptr) {
    int done = SHAKEDOWN_CKPT_DID_NOTHING;
    const int code = shakedown_ckpt_snapshot(handle_, &done);
    if (did != nullptr) *did = static_cast<shakedown_ckpt_did>(done);
    return status(code);
  }
  Status restart_info(shakedown_ckpt_restart& info) {
    info.struct_bytes = sizeof info;
    return status(shakedown_ckpt_restart_info(handle_, &info));
  }

  // Of this rank.

  /// Whether a checkpoint is still being written.
  [[nodiscard]] bool pending() {
    int pending = 0;
    shakedown_ckpt_poll(handle_, &pending);
    return pending != 0;
  }
  /// Waits for it; below 0 as long as the option timeout_seconds says.
  Status wait(double seconds = -1) { return status(shakedown_ckpt_wait(handle_, seconds)); }
  [[nodiscard]] shakedown_ckpt_statistics statistics() {
    shakedown_ckpt_statistics found{};
    found.struct_bytes = sizeof found;
    require(shakedown_ckpt_stats(handle_, &found));
    return found;
  }
  void set_option(const std::string& name, const std::string& value) {
    require(shakedown_ckpt_set_option(handle_, name.c_str(), value.c_str()));
  }
  /// What went wrong last, and warnings.
  [[nodiscard]] std::string last_error() const { return shakedown_ckpt_last_error(handle_); }
  [[nodiscard]] shakedown_ckpt* handle() const { return handle_; }

 private:
  [[nodiscard]] Status status(int code) const {
    return {code, code == SHAKEDOWN_CKPT_OK ? "" : shakedown_ckpt_last_error(handle_)};
  }
  void require(int code) const {
    if (code != SHAKEDOWN_CKPT_OK) throw Error(status(code));
  }

  shakedown_ckpt* handle_ = nullptr;
};

}  // namespace shakedown::ckpt
