// Messages between the helpers of the ranks, over TCP connections of their own, so that MPI is not called from a second
// thread. Used by one thread. Nothing here waits past its deadline; a peer that is gone shows as nothing received.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "manifest.hpp"
#include "storage_worker.hpp"

namespace shakedown::checkpoint {

/// Where a process listens.
using Address = std::array<std::uint8_t, sizeof(sockaddr_in6)>;

/// Bytes to be sent, with what keeps them alive.
struct Payload {
  std::shared_ptr<const void> owner;
  std::span<const std::uint8_t> bytes;
  static Payload of(Bytes bytes);
};

class Transport {
 public:
  /// Listens; on `numeric_ip`, or where that is empty, on all addresses and is known by that of the host's name. Throws
  /// std::runtime_error.
  explicit Transport(const std::string& numeric_ip);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }

  /// All processes of the run. Who connects must know the key.
  void meet(int rank, std::vector<Address> peers, const RunId& key);

  /// What answers requests of others, whenever this transport waits.
  using Handler = std::function<Bytes(std::span<const std::uint8_t> request)>;
  void serve(Handler handler) { handler_ = std::move(handler); }

  /// Jobs have ascending numbers, the same on all ranks. What was sent for earlier ones is dropped from now on: called
  /// for the next one when one ends, so that nothing stale is in the way of requests.
  void begin(std::uint64_t job);
  /// Tells all peers that this rank takes no further part in the job, so that they do not wait for it.
  void give_up(std::uint64_t job);

  /// True when all of it is on its way.
  bool send(int to, std::uint64_t job, std::uint64_t step, Payload payload, Deadline deadline);
  /// Nothing where the peer is gone, gave up, is already at a later job, or time ran out.
  std::optional<Bytes> receive(int from, std::uint64_t job, std::uint64_t step, Deadline deadline);
  /// Memory of what was received, for what comes next: fresh pages cost more than the copy into them.
  void recycle(Bytes&& bytes);
  /// The peer's answer.
  std::optional<Bytes> request(int to, Bytes question, Deadline deadline);

  /// Serves others until the deadline or until somebody calls wake() from another thread.
  void idle(Deadline deadline);
  void wake();
  /// From another thread: whatever waits ends at once, without success, from now on.
  void cancel();

 private:
  struct Outgoing;
  struct Incoming;
  struct Message;
  struct Peer;
  struct State;
  bool turn(Deadline deadline);
  Outgoing* connected(int to);
  void queue(Outgoing& connection, std::uint8_t kind, std::uint64_t job, std::uint64_t step, Payload payload);
  bool flushed(int to, Deadline deadline);
  void accept_all();
  void read_from(Incoming& connection);
  void arrived(Incoming& connection);
  void write_to(Outgoing& connection);
  bool waits(Deadline deadline) const;

  std::unique_ptr<State> state_;
  Address address_ = {};
  Handler handler_;
};

}  // namespace shakedown::checkpoint
