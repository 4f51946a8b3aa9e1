#include "ranks.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "gpu/near.hpp"

namespace shakedown::gpu_collectives {
namespace {

constexpr double kLeaveSeconds = 3;  // for a rank to see that it is to leave
constexpr double kAbortSeconds = 5;  // for ncclCommAbort, and for the call that it ends

const char* words_of(Doing doing) {
  switch (doing) {
    case Doing::connecting:
      return "makes its communicator";
    case Doing::calling:
      return "is inside the library's call";
    case Doing::before:
      return "is at what comes before the operation";
    case Doing::meeting:
      return "waits for the other ranks to begin";
    case Doing::waiting:
      return "waits for the operation";
    case Doing::nothing:
      break;
  }
  return "is done";
}

/// Wait for what takes microseconds; with more ranks than CPUs the others must run.
class Patience {
 public:
  void wait() {
    if (++turns_ > 1000) sched_yield();
    if (turns_ > 20000) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

 private:
  int turns_ = 0;
};

}  // namespace

std::pair<std::string, std::string> parts_of(const std::string& error) {
  constexpr std::string_view kNext = "\n  next: ";
  const auto cut = error.find(kNext);
  if (cut == std::string::npos) return {error, ""};
  return {error.substr(0, cut), error.substr(cut + kNext.size())};
}

// ------------------------------------------------------------------------------------------------- in a rank's thread

void Rank::check_stop() const {
  if (all_.stop_.load(std::memory_order_acquire)) throw Stopped{};
}

void Rank::call(const char* name, const std::function<int()>& work) {
  check_stop();
  auto& doing = all_.all_[static_cast<std::size_t>(seat)]->doing;
  doing.store(Doing::calling, std::memory_order_relaxed);
  if (const int code = work(); code != 0 && code != kNcclInProgress)
    throw LibraryFailure(code, std::string(name) + ": " + all_.nccl_.words(code));
}

void Rank::finish(const gpu::Event& event, Doing doing) {
  all_.all_[static_cast<std::size_t>(seat)]->doing.store(doing, std::memory_order_relaxed);
  for (Patience patience; !device.happened(event); patience.wait()) {
    check_stop();
    int error = 0;
    if (comm != nullptr && all_.nccl_.async_error(comm, &error) == 0 && error != 0 && error != kNcclInProgress)
      throw LibraryFailure(error, "ncclCommGetAsyncError: " + all_.nccl_.words(error));
  }
}

void Rank::meet() {
  all_.all_[static_cast<std::size_t>(seat)]->doing.store(Doing::meeting, std::memory_order_relaxed);
  const unsigned before = all_.arrived_.fetch_add(1, std::memory_order_acq_rel);
  const unsigned all = (before / all_.members_ + 1) * all_.members_;
  for (Patience patience; all_.arrived_.load(std::memory_order_acquire) < all; patience.wait()) check_stop();
}

Ranks::Ended Ranks::ended(Rank& rank, const std::function<void(Rank&)>& work) {
  try {
    work(rank);
  } catch (const Stopped&) {
  } catch (const LibraryFailure& failure) {
    return {true, failure.code == kNcclRemote, failure.what()};
  } catch (const gpu::Failure& failure) {
    return {true, false, failure.what(), failure.state};
  } catch (const std::exception& error) {
    return {true, false, error.what()};
  }
  return {};
}

void Ranks::serve(Seat& seat) {
  const auto near = gpu::near_cpus(seat.rank.device.info(), allowed_cpus());
  if (!near.empty()) bind_thread(near);
  std::unique_lock hold(lock_);
  for (;;) {
    changed_.wait(hold, [&] { return seat.work != nullptr || seat.ending; });
    if (seat.work == nullptr) break;
    const auto* work = seat.work;
    seat.doing.store(Doing::before, std::memory_order_relaxed);
    hold.unlock();
    Ended how = ended(seat.rank, *work);
    hold.lock();
    seat.ended = std::move(how);
    seat.doing.store(Doing::nothing, std::memory_order_relaxed);
    seat.work = nullptr;
    changed_.notify_all();
  }
  hold.unlock();
  seat.rank.stream.reset();
}

// ------------------------------------------------------------------------------------------ in that of whoever waits

Ranks::Ranks(const Nccl& nccl, const std::vector<gpu::Device*>& devices, double join_s) : nccl_(nccl), join_s_(join_s) {
  all_.reserve(devices.size());
  for (gpu::Device* device : devices)
    all_.push_back(std::make_unique<Seat>(*this, *device, static_cast<int>(all_.size())));
  for (auto& seat : all_) seat->thread = std::thread([this, &seat = *seat] { serve(seat); });
}

Ranks::~Ranks() {
  {
    const std::lock_guard hold(lock_);
    for (auto& seat : all_) seat->ending = true;
    changed_.notify_all();
  }
  for (auto& seat : all_) seat->thread.join();
}

std::string Ranks::name_of(int seat) const {
  const gpu::Info& info = rank(seat).device.info();
  return "rank " + std::to_string(seat) + " (GPU " + std::to_string(info.index) + ", " + info.name +
         (info.pci.empty() ? "" : ", " + info.pci) + ")";
}

std::string Ranks::names_of(const std::vector<int>& seats) const {
  std::string text;
  for (const int seat : seats) text.append(text.empty() ? "" : "; ").append(name_of(seat));
  return text;
}

void Ranks::begin(const std::vector<int>& seats, const std::function<void(Rank&)>& work) {
  const std::lock_guard hold(lock_);
  arrived_.store(0, std::memory_order_relaxed);
  members_ = static_cast<unsigned>(seats.size());
  for (const int one : seats) {
    Seat& seat = *all_[static_cast<std::size_t>(one)];
    seat.ended = {};
    seat.work = &work;
  }
  changed_.notify_all();
}

std::vector<int> Ranks::busy(const std::vector<int>& seats) const {
  std::vector<int> found;
  for (const int one : seats) {
    if (all_[static_cast<std::size_t>(one)]->work != nullptr) found.push_back(one);
  }
  return found;
}

/// Whether all are done. With `until_failure` the wait ends where one of them failed, too.
bool Ranks::await(const std::vector<int>& seats, double limit_s, bool until_failure) {
  const auto failed = [&] {
    return std::any_of(seats.begin(), seats.end(), [&](int one) {
      const Seat& seat = *all_[static_cast<std::size_t>(one)];
      return seat.work == nullptr && seat.ended.failed;
    });
  };
  std::unique_lock hold(lock_);
  changed_.wait_for(hold, std::chrono::duration<double>(limit_s),
                    [&] { return busy(seats).empty() || (until_failure && failed()); });
  return busy(seats).empty();
}

/// Who is the cause: those whose GPU or library failed by itself; else those that are behind what the others wait for.
Trouble Ranks::trouble_of(const std::vector<int>& seats, const std::vector<Doing>& doing, double limit_s) const {
  Trouble trouble;
  const std::lock_guard hold(lock_);
  std::vector<int> remote;
  for (const int one : seats) {
    const Seat& seat = *all_[static_cast<std::size_t>(one)];
    if (!seat.ended.failed) continue;
    const auto [what, next] = parts_of(seat.ended.error);
    trouble.text.append(trouble.text.empty() ? "" : "; ").append(name_of(one) + ": " + what);
    if (trouble.advice.empty()) trouble.advice = next;
    (seat.ended.remote ? remote : trouble.seats).push_back(one);
    if (!seat.ended.remote) trouble.state = seat.ended.state;
  }
  if (!trouble.text.empty()) {
    if (trouble.seats.empty()) trouble.seats = remote;
    return trouble;
  }
  trouble.hung = true;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (doing[i] != Doing::nothing) trouble.unfinished.push_back(seats[i]);
  }
  for (const Doing behind : {Doing::calling, Doing::before}) {
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (doing[i] == behind) trouble.seats.push_back(seats[i]);
    }
    if (!trouble.seats.empty()) break;
  }
  if (trouble.seats.size() == seats.size()) trouble.seats.clear();  // all alike: none of them is behind
  trouble.text = "no answer in " + std::to_string(static_cast<int>(limit_s)) + " s";
  for (std::size_t i = 0; i < seats.size(); ++i)
    trouble.text += (i == 0 ? ": " : "; ") + name_of(seats[i]) + " " + words_of(doing[i]);
  return trouble;
}

/// Every rank leaves its work, and its communicator goes. From outside only where its thread does not come back: then
/// it is inside a call, which the abort ends.
void Ranks::clear_up(const std::vector<int>& seats, const Trouble& trouble) {
  stop_.store(true, std::memory_order_release);
  if (!await(seats, kLeaveSeconds, false)) {
    std::vector<int> stuck;
    {
      const std::lock_guard hold(lock_);
      stuck = busy(seats);
    }
    for (const int one : stuck) {
      if (all_[static_cast<std::size_t>(one)]->doing.load(std::memory_order_relaxed) != Doing::calling) continue;
      if (Comm comm = rank(one).comm.exchange(nullptr)) nccl_.abort(comm);
    }
    if (!await(seats, kAbortSeconds, false)) {
      const std::lock_guard hold(lock_);
      throw Unanswering(kCouldNotMeasure,
                        trouble.text + "; then " + names_of(busy(seats)) + " does not come back from the library",
                        "see `nvidia-smi` and dmesg for an Xid; drain the node, and reset or power-cycle the GPU");
    }
  }
  const std::function<void(Rank&)> leave = [&](Rank& rank) {
    if (Comm comm = rank.comm.exchange(nullptr)) nccl_.abort(comm);
  };
  begin(seats, leave);
  if (!await(seats, kAbortSeconds, false))
    throw Unanswering(kCouldNotMeasure, trouble.text + "; then ncclCommAbort does not come back",
                      "see `nvidia-smi` and dmesg for an Xid; drain the node");
  stop_.store(false, std::memory_order_release);
}

std::optional<Trouble> Ranks::run(const std::vector<int>& seats, double limit_s,
                                  const std::function<void(Rank&)>& work) {
  begin(seats, work);
  const bool whole = await(seats, limit_s, true);
  std::vector<Doing> doing;
  doing.reserve(seats.size());
  bool failed = false;
  {
    const std::lock_guard hold(lock_);
    for (const int one : seats) {
      const Seat& seat = *all_[static_cast<std::size_t>(one)];
      doing.push_back(seat.doing.load(std::memory_order_relaxed));
      failed = failed || (seat.work == nullptr && seat.ended.failed);
    }
  }
  if (whole && !failed) return std::nullopt;
  // Others may be about to say the same, and what they say is worth more than that they were told to leave.
  if (failed) await(seats, 0.05, false);
  Trouble trouble = trouble_of(seats, doing, limit_s);
  clear_up(seats, trouble);
  return trouble;
}

void Ranks::close() {
  std::vector<int> seats;
  for (int seat = 0; seat < this->seats(); ++seat) {
    if (rank(seat).comm != nullptr) seats.push_back(seat);
  }
  if (seats.empty()) return;
  run(seats, join_s_, [&](Rank& rank) {
    if (Comm comm = rank.comm.exchange(nullptr)) nccl_.destroy(comm);
  });
}

std::optional<Trouble> Ranks::connect(const std::vector<std::vector<int>>& groups) {
  close();
  std::vector<int> members;
  members.reserve(all_.size());
  std::vector<UniqueId> ids(all_.size());
  for (const auto& group : groups) {
    UniqueId id;
    if (const int code = nccl_.unique_id(&id); code != 0)
      return Trouble{.text = "ncclGetUniqueId: " + nccl_.words(code)};
    for (std::size_t i = 0; i < group.size(); ++i) {
      members.push_back(group[i]);
      ids[static_cast<std::size_t>(group[i])] = id;
      rank(group[i]).number = static_cast<int>(i);
      rank(group[i]).of = static_cast<int>(group.size());
    }
  }
  // A stream of the rank's thread: the device's context is current there from then on, as the library expects. A GPU
  // that fails does so here, where no rank waits for another.
  auto prepared = run(members, join_s_, [](Rank& rank) {
    if (rank.stream == nullptr) rank.stream = std::make_unique<gpu::Stream>(rank.device);
    rank.device.free_bytes();
  });
  if (prepared) return prepared;
  return run(members, join_s_, [&](Rank& rank) {
    all_[static_cast<std::size_t>(rank.seat)]->doing.store(Doing::connecting, std::memory_order_relaxed);
    Comm made = nullptr;
    if (const int code = nccl_.init(&made, rank.of, ids[static_cast<std::size_t>(rank.seat)], rank.number); code != 0)
      throw LibraryFailure(code, "ncclCommInitRank: " + nccl_.words(code));
    rank.comm = made;
  });
}

}  // namespace shakedown::gpu_collectives
