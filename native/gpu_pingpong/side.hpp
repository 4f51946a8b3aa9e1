// One rank's end of the messages: buffers in a device's memory or the host's, and how they reach MPI.
#pragma once

#include <mpi.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/formats.hpp"
#include "gpu/gpu.hpp"

namespace shakedown::gpu_pingpong {

constexpr int kTag = 7;
using Word = std::uint64_t;

/// A buffer to send from and one to receive into, either in the device's memory or in the host's. MPI gets the device's
/// addresses where it takes them (`aware`); else each message is copied through pinned memory, as a program would have
/// to.
class Side {
 public:
  Side(gpu::Device& device, bool on_device, bool aware, std::size_t bytes)
      : device_(device),
        stream_(device),
        staged_(on_device && !aware),
        memory_(on_device ? gpu::Memory::device : gpu::Memory::pinned),
        out_(device, std::max<std::size_t>(bytes, 1), memory_),
        in_(device, std::max<std::size_t>(bytes, 1), memory_) {
    if (staged_) {
      out_stage_ = gpu::Array<char>(device, out_.size(), gpu::Memory::pinned);
      in_stage_ = gpu::Array<char>(device, in_.size(), gpu::Memory::pinned);
    }
  }

  void send(MPI_Comm comm, int to, std::size_t bytes) const {
    leave(bytes);
    MPI_Send(outgoing(), static_cast<int>(bytes), MPI_CHAR, to, kTag, comm);
  }
  void receive(MPI_Comm comm, int from, std::size_t bytes) const {
    MPI_Recv(incoming(), static_cast<int>(bytes), MPI_CHAR, from, kTag, comm, MPI_STATUS_IGNORE);
    arrive(bytes);
  }
  /// A window of messages under way at once, all from and to the same buffers.
  void send_window(MPI_Comm comm, int to, std::size_t bytes, std::vector<MPI_Request>& requests) const {
    for (auto& request : requests) {
      leave(bytes);
      MPI_Isend(outgoing(), static_cast<int>(bytes), MPI_CHAR, to, kTag, comm, &request);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  void receive_window(MPI_Comm comm, int from, std::size_t bytes, std::vector<MPI_Request>& requests) const {
    for (auto& request : requests) MPI_Irecv(incoming(), static_cast<int>(bytes), MPI_CHAR, from, kTag, comm, &request);
    for (std::size_t left = requests.size(); left > 0; --left) {
      int index = 0;
      MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE);
      arrive(bytes);
    }
  }

  /// Put the bytes of `seed` where messages start, and others where they arrive.
  void prepare(Word seed, std::size_t bytes) {
    std::vector<char> content(bytes);
    write(content, seed);
    device_.copy(out_.data(), content.data(), bytes, stream_);
    write(content, ~seed);
    device_.copy(in_.data(), content.data(), bytes, stream_);
    stream_.wait();
  }
  /// How many bytes that arrived are not those of `seed`.
  [[nodiscard]] double wrong(Word seed, std::size_t bytes) const {
    std::vector<char> expected(bytes), found(bytes);
    write(expected, seed);
    device_.copy(found.data(), in_.data(), bytes, stream_);
    stream_.wait();
    double count = 0;
    for (std::size_t i = 0; i < bytes; ++i) count += expected[i] != found[i] ? 1 : 0;
    return count;
  }
  void spoil(std::size_t bytes) const {
    if (bytes > 0) device_.fill(in_.data() + bytes / 2, 0x55, 1, stream_);
    stream_.wait();
  }

 private:
  static void write(std::vector<char>& bytes, Word seed) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const Word word = gpu::random_bits(seed, i / sizeof(Word));
      bytes[i] = static_cast<char>(word >> (8 * (i % sizeof(Word))));
    }
  }
  [[nodiscard]] const char* outgoing() const { return staged_ ? out_stage_.data() : out_.data(); }
  [[nodiscard]] char* incoming() const { return staged_ ? in_stage_.data() : in_.data(); }
  void leave(std::size_t bytes) const {
    if (!staged_) return;
    device_.copy(out_stage_.data(), out_.data(), bytes, stream_);
    stream_.wait();
  }
  void arrive(std::size_t bytes) const {
    if (!staged_) return;
    device_.copy(in_.data(), in_stage_.data(), bytes, stream_);
    stream_.wait();
  }

  gpu::Device& device_;
  gpu::Stream stream_;
  bool staged_;
  gpu::Memory memory_;
  gpu::Array<char> out_, in_, out_stage_, in_stage_;
};

}  // namespace shakedown::gpu_pingpong
