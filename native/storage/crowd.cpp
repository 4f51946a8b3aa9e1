#include "crowd.hpp"

#include <algorithm>
#include <barrier>
#include <exception>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"

namespace shakedown::storage {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// What the threads and the one that started them share.
struct Meeting {
  explicit Meeting(const Crowd& of)
      : crowd(of),
        items(of.items),
        barrier(static_cast<std::ptrdiff_t>(of.threads) + 1),
        reached(of.threads),
        seconds(of.threads),
        errors(of.threads) {}
  const Crowd& crowd;
  std::uint64_t items;
  double begin_s = 0;
  std::barrier<> barrier;
  std::vector<std::uint64_t> reached;
  std::vector<double> seconds;
  std::vector<std::exception_ptr> errors;
};

/// A thread that fails leaves the barrier, so that the others do not wait for it.
void take_part(Meeting& all, std::size_t i) {
  const Crowd& crowd = all.crowd;
  try {
    crowd.before(i);
    all.barrier.arrive_and_wait();
    all.barrier.arrive_and_wait();
    const bool walled = crowd.stonewall_s > 0;
    crowd.begun(i, all.begin_s);
    all.reached[i] = crowd.work(i, 0, all.items, walled ? all.begin_s + crowd.stonewall_s : kForever);
    if (walled) {
      all.barrier.arrive_and_wait();
      all.barrier.arrive_and_wait();
      crowd.work(i, all.reached[i], all.items, kForever);
    }
    crowd.finish(i);
    all.seconds[i] = now_s() - all.begin_s;
    crowd.after(i, all.seconds[i]);
  } catch (...) {
    all.errors[i] = std::current_exception();
    all.barrier.arrive_and_drop();
  }
}

}  // namespace

Crowded run_crowd(Peers& peers, const Crowd& crowd) {
  Meeting all(crowd);
  std::vector<std::thread> threads;
  threads.reserve(crowd.threads);
  for (std::size_t i = 0; i < crowd.threads; ++i) threads.emplace_back([&all, i] { take_part(all, i); });
  std::string lost;
  const auto with_others = [&](auto&& call) {
    if (!lost.empty()) return;
    try {
      call();
    } catch (const Error& error) {
      lost = error.what();
    }
  };
  all.barrier.arrive_and_wait();  // all are ready
  with_others([&] { peers.meet(); });
  all.begin_s = now_s();
  all.barrier.arrive_and_wait();  // go
  if (crowd.stonewall_s > 0) {
    all.barrier.arrive_and_wait();  // all have stopped
    const std::uint64_t most = *std::max_element(all.reached.begin(), all.reached.end());
    with_others([&] { all.items = static_cast<std::uint64_t>(peers.most(static_cast<double>(most))); });
    all.barrier.arrive_and_wait();  // and continue
  }
  for (auto& one : threads) one.join();
  if (!lost.empty()) throw cannot(lost);
  peers.together([&] {
    for (const auto& error : all.errors) {
      if (error) std::rethrow_exception(error);
    }
  });
  return {peers.most(*std::max_element(all.seconds.begin(), all.seconds.end())), all.items};
}

}  // namespace shakedown::storage
