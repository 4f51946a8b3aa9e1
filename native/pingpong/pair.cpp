// One pair: the kernels, the timing of samples, and the check of what arrived.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "pattern.hpp"
#include "pingpong.hpp"

namespace shakedown::pingpong {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kLine = 64;
constexpr std::size_t kHead = 4096;                         // of each sample's messages that is checked
constexpr std::size_t kCheckBytes = std::size_t{16} << 20;  // most that one check of whole messages takes

/// The leader's word to the other side.
struct Command {
  enum Op : std::int64_t { run, check, done, stop };
  std::int64_t op = run;
  std::int64_t iterations = 0;
  std::int64_t sample = 0;
};

/// One side of a pair.
class Side {
 public:
  Side(const World& world, const Options& options, const Buffers& buffers, const Shape& shape, int peer, bool leads)
      : world_(world), options_(options), buffers_(buffers), shape_(shape), peer_(peer), leads_(leads) {
    requests_.resize(2 * static_cast<std::size_t>(options.window));
    statuses_.resize(requests_.size());
  }

  /// Both sides meet, having prepared the sample, and then exchange; the leader learns how long it took.
  double sample(std::int64_t iterations, std::int64_t number) {
    if (leads_) tell({Command::run, iterations, number});
    mark(number);
    meet();
    const double begin = now_s();
    exchange(iterations);
    const double seconds = now_s() - begin;
    if (options_.verify) wrong_ += wrong_head(number);
    return seconds;
  }

  /// Whole messages, each with content of its own in a place of its own: lost, stale, damaged or swapped ones show.
  void check();

  void tell(const Command& command) { MPI_Send(&command, sizeof command, MPI_BYTE, peer_, kTag, world_.control); }
  Command hear() {
    Command command;
    MPI_Recv(&command, sizeof command, MPI_BYTE, peer_, kTag, world_.control, MPI_STATUS_IGNORE);
    return command;
  }
  void tell_wrong() { MPI_Send(&wrong_, 1, MPI_INT64_T, peer_, kTag, world_.control); }
  void hear_wrong() {
    std::int64_t theirs = 0;
    MPI_Recv(&theirs, 1, MPI_INT64_T, peer_, kTag, world_.control, MPI_STATUS_IGNORE);
    wrong_ += theirs;
  }
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }

 private:
  [[nodiscard]] bool sends() const { return leads_ || shape_.kernel != Kernel::bandwidth; }
  [[nodiscard]] bool receives() const { return !leads_ || shape_.kernel != Kernel::bandwidth; }
  [[nodiscard]] std::uint64_t seed(std::int64_t number, int slot, bool from_leader) const {
    return seed_of({static_cast<int>(shape_.kernel), shape_.bytes, number, slot, from_leader});
  }
  void meet() {
    char word = 0;
    if (leads_) {
      MPI_Recv(&word, 1, MPI_CHAR, peer_, kTag, world_.control, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&word, 1, MPI_CHAR, peer_, kTag, world_.control);
    }
  }
  void exchange(std::int64_t iterations);
  void echo(std::int64_t iterations);
  void stream(std::int64_t iterations);
  void both_ways(std::int64_t iterations);
  void mark(std::int64_t number);
  [[nodiscard]] std::int64_t wrong_head(std::int64_t number) const;
  void transfer_slots(int slots);
  [[nodiscard]] std::int64_t wrong_slots(int slots);
  void damage(int slots) const;

  const World& world_;
  const Options& options_;
  const Buffers& buffers_;
  const Shape& shape_;
  int peer_;
  bool leads_;
  std::int64_t wrong_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

/// Ping-pong: one message there and one back, `iterations` times.
void Side::echo(std::int64_t iterations) {
  std::uint8_t* const out = buffers_.out(shape_.bytes).data();
  std::uint8_t* const in = buffers_.in(shape_.bytes).data();
  const int bytes = static_cast<int>(shape_.bytes);
  const MPI_Comm comm = world_.data;
  if (leads_) {
    for (std::int64_t i = 0; i < iterations; ++i) {
      MPI_Send(out, bytes, MPI_BYTE, peer_, kTag, comm);
      MPI_Recv(in, bytes, MPI_BYTE, peer_, kTag, comm, MPI_STATUS_IGNORE);
    }
  } else {
    for (std::int64_t i = 0; i < iterations; ++i) {
      MPI_Recv(in, bytes, MPI_BYTE, peer_, kTag, comm, MPI_STATUS_IGNORE);
      MPI_Send(out, bytes, MPI_BYTE, peer_, kTag, comm);
    }
  }
}

/// Windows one way, each acknowledged when all of it has arrived.
void Side::stream(std::int64_t iterations) {
  std::uint8_t* const data = (leads_ ? buffers_.out(shape_.bytes) : buffers_.in(shape_.bytes)).data();
  const int bytes = static_cast<int>(shape_.bytes);
  char ack = 0;
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (int k = 0; k < options_.window; ++k) {
      MPI_Request* const request = &requests_[static_cast<std::size_t>(k)];
      if (leads_) {
        MPI_Isend(data, bytes, MPI_BYTE, peer_, kTag, world_.data, request);
      } else {
        MPI_Irecv(data, bytes, MPI_BYTE, peer_, kTag, world_.data, request);
      }
    }
    MPI_Waitall(options_.window, requests_.data(), MPI_STATUSES_IGNORE);
    if (leads_) {
      MPI_Recv(&ack, 1, MPI_CHAR, peer_, kTag, world_.data, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&ack, 1, MPI_CHAR, peer_, kTag, world_.data);
    }
  }
}

/// Windows both ways at once; at the end of the sample each side tells the other that all has arrived.
void Side::both_ways(std::int64_t iterations) {
  std::uint8_t* const out = buffers_.out(shape_.bytes).data();
  std::uint8_t* const in = buffers_.in(shape_.bytes).data();
  const int bytes = static_cast<int>(shape_.bytes);
  for (std::int64_t i = 0; i < iterations; ++i) {
    MPI_Request* request = requests_.data();
    for (int k = 0; k < options_.window; ++k) MPI_Irecv(in, bytes, MPI_BYTE, peer_, kTag, world_.data, request++);
    for (int k = 0; k < options_.window; ++k) MPI_Isend(out, bytes, MPI_BYTE, peer_, kTag, world_.data, request++);
    MPI_Waitall(2 * options_.window, requests_.data(), MPI_STATUSES_IGNORE);
  }
  char sent = 0;
  char got = 0;
  MPI_Sendrecv(&sent, 1, MPI_CHAR, peer_, kTag, &got, 1, MPI_CHAR, peer_, kTag, world_.data, MPI_STATUS_IGNORE);
}

void Side::exchange(std::int64_t iterations) {
  switch (shape_.kernel) {
    case Kernel::latency:
      return echo(iterations);
    case Kernel::bandwidth:
      return stream(iterations);
    case Kernel::bidirectional:
      return both_ways(iterations);
  }
}

/// The first page and the last line of a message: what is checked after every sample, because it costs little.
template <class Byte, class Do>
void for_ends(std::span<Byte> data, Do&& act) {
  const std::size_t head = std::min(data.size(), kHead);
  act(data.first(head), 0);
  act(data.last(std::min(data.size() - head, kLine)), 1);
}

void Side::mark(std::int64_t number) {
  if (!options_.verify) return;
  for_ends(buffers_.out(shape_.bytes), [&](auto part, int end) { fill(part, seed(number, end, leads_)); });
}

std::int64_t Side::wrong_head(std::int64_t number) const {
  std::int64_t wrong = 0;
  if (!receives()) return wrong;
  for_ends(buffers_.in(shape_.bytes), [&](auto part, int end) { wrong += count_wrong(part, seed(number, end, !leads_)); });
  return wrong;
}

void Side::transfer_slots(int slots) {
  const int bytes = static_cast<int>(shape_.bytes);
  const auto receive = [&](int slot, MPI_Request* request) {
    MPI_Irecv(buffers_.in(shape_.bytes, slot).data(), bytes, MPI_BYTE, peer_, kTag, world_.data, request);
  };
  const auto send = [&](int slot, MPI_Request* request) {
    MPI_Isend(buffers_.out(shape_.bytes, slot).data(), bytes, MPI_BYTE, peer_, kTag, world_.data, request);
  };
  MPI_Request* next = requests_.data();
  for (int slot = 0; receives() && slot < slots; ++slot) receive(slot, next++);
  if (receives() && !leads_) meet();
  if (leads_ && (shape_.kernel == Kernel::bandwidth || receives())) meet();
  for (int slot = 0; sends() && slot < slots; ++slot) send(slot, next++);
  MPI_Waitall(static_cast<int>(next - requests_.data()), requests_.data(), statuses_.data());
}

}  // namespace
}  // namespace shakedown::pingpong
