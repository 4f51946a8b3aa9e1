#include "plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/error.hpp"

namespace shakedown::hpl_probe {
namespace {

constexpr const char* kNames[kKinds] = {"gemm", "narrow", "solve", "panel", "rows", "ring", "latency", "node"};
constexpr Index kRows = 1536;  // products of this height and width reach full speed
constexpr Index kColumns = 3072;
constexpr Index kThreadColumns = 256;  // that a thread gathers and solves at a time
constexpr Index kLatencyBytes = 8;

/// The generator of the order: the same on every rank, whatever its C++ library.
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t seed) : state_(seed) {}
  template <class T>
  void operator()(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33;
  }
  std::uint64_t state_;
};

std::vector<Index> gangs(const Sweep& sweep, int threads) {
  std::set<Index> counts;
  for (const Index count : sweep.panel_threads) counts.insert(std::min<Index>(count, threads));
  if (!counts.empty()) return {counts.begin(), counts.end()};
  for (Index count = 1; count < threads; count *= 2) counts.insert(count);
  counts.insert(threads);
  return {counts.begin(), counts.end()};
}

void add_products(const Sweep& sweep, const Task& full, std::vector<Task>& tasks) {
  const auto add = [&](Kind kind, Index rows, Index columns, Index k) {
    Task task = full;
    task.kind = kind;
    task.rows = rows;
    task.columns = columns;
    task.k = k;
    tasks.push_back(task);
  };
  for (const Index k : sweep.k) add(Kind::gemm, full.rows, full.columns, k);
  const Index k = middle_nb(sweep);
  for (const Index rows : sweep.narrow_rows) {
    if (rows < full.rows) add(Kind::narrow, rows, full.columns, k);
  }
  for (const Index columns : sweep.narrow_columns) {
    if (columns < full.columns) add(Kind::narrow, full.rows, columns, k);
  }
  add(Kind::node, full.rows, full.columns, k);
}

void add_panels(const Sweep& sweep, int threads, std::vector<Task>& tasks) {
  for (const Index rows : sweep.panel_rows) {
    for (const Index nb : sweep.nb) {
      for (const Index gang : gangs(sweep, threads)) {
        for (const auto& pfact : sweep.pfact) {
          for (const Index nbmin : sweep.nbmin) {
            for (const bool busy : {false, true}) {
              if (busy && gang == threads) continue;  // nobody is left to be busy
              Task task;
              task.kind = Kind::panel;
              task.rows = std::max(rows, nb);
              task.k = nb;
              task.threads = static_cast<int>(gang);
              task.pfact = pfact;
              task.nbmin = nbmin;
              task.busy = busy;
              tasks.push_back(task);
            }
          }
        }
      }
    }
  }
}

void add_messages(const Sweep& sweep, const Place& place, std::vector<Task>& tasks) {
  for (const bool off : {false, true}) {
    if (!(off ? place.off : place.on)) continue;
    for (const bool busy : {false, true}) {
      if (busy && place.threads == 1) continue;  // the only thread sends
      Task task;
      task.off = off;
      task.busy = busy;
      task.threads = place.threads;
      task.kind = Kind::latency;
      task.bytes = kLatencyBytes;
      tasks.push_back(task);
      task.kind = Kind::ring;
      for (const Index bytes : sweep.sizes) {
        task.bytes = std::max<Index>(8, bytes / 8 * 8);
        for (const bool contended : {false, true}) {
          task.contended = contended;
          tasks.push_back(task);
        }
      }
    }
  }
}

/// Make each list of ranks a ring.
Ring rings_of(const std::vector<std::vector<int>>& circles, const std::vector<std::string>& hosts) {
  Ring ring;
  ring.to.assign(hosts.size(), -1);
  ring.from = ring.to;
  std::map<std::string, int> senders;
  for (const auto& circle : circles) {
    if (circle.size() < 2) continue;
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const int rank = circle[i], next = circle[(i + 1) % circle.size()];
      ring.to[static_cast<std::size_t>(rank)] = next;
      ring.from[static_cast<std::size_t>(next)] = rank;
      ring.senders = std::max(ring.senders, ++senders[hosts[static_cast<std::size_t>(rank)]]);
      if (ring.first < 0 || rank < ring.first) ring.first = rank;
    }
  }
  return ring;
}

/// The ranks of each host, hosts in the order in which they appear.
std::vector<std::vector<int>> by_host(const std::vector<std::string>& hosts) {
  std::vector<std::vector<int>> ranks;
  std::map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [found, fresh] = places.try_emplace(hosts[rank], ranks.size());
    if (fresh) ranks.emplace_back();
    ranks[found->second].push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace

const char* name_of(Kind kind) { return kNames[static_cast<int>(kind)]; }

Kind parse_kind(const std::string& word) {
  for (int i = 0; i < kKinds; ++i) {
    if (word == kNames[i]) return static_cast<Kind>(i);
  }
  std::string known;
  for (const char* name : kNames) {
    if (!known.empty()) known += ", ";
    known += name;
  }
  throw usage("'" + word + "' is not a probe", "known: " + known);
}

Index default_rows() { return kRows; }
Index default_columns(int threads) { return std::max(kColumns, kThreadColumns * threads); }

std::vector<Task> make_plan(const Sweep& sweep, const Place& place) {
  std::vector<Task> tasks;
  Task full;
  full.threads = place.threads;
  full.rows = sweep.rows;
  full.columns = sweep.columns;
  add_products(sweep, full, tasks);
  for (const Index nb : sweep.nb) {
    Task task = full;
    task.k = nb;
    task.kind = Kind::rows;
    tasks.push_back(task);
    task.kind = Kind::solve;
    for (const auto& trsm : sweep.trsm) {
      task.trsm = trsm;
      tasks.push_back(task);
    }
  }
  add_panels(sweep, place.threads, tasks);
  add_messages(sweep, place, tasks);
  if (!sweep.only.empty()) {
    std::erase_if(tasks, [&](const Task& task) {
      return std::find(sweep.only.begin(), sweep.only.end(), task.kind) == sweep.only.end();
    });
  }
  if (tasks.empty()) {
    throw usage("nothing is left to measure: messages need two ranks",
                "start it with mpirun -np 2, or name other probes with --only");
  }
  Shuffle shuffle(sweep.seed);
  shuffle(tasks);
  return tasks;
}

Object params_of(const Task& task, const Place& place, int senders) {
  Object params;
  switch (task.kind) {
    case Kind::gemm:
    case Kind::narrow:
    case Kind::node:
      params.add("m", task.rows).add("n", task.columns).add("k", task.k).add("threads", task.threads);
      break;
    case Kind::solve:
      params.add("nb", task.k).add("columns", task.columns).add("trsm", task.trsm).add("threads", task.threads);
      break;
    case Kind::rows:
      params.add("nb", task.k).add("columns", task.columns).add("threads", task.threads);
      break;
    case Kind::panel:
      params.add("rows", task.rows).add("nb", task.k).add("threads", task.threads);
      params.add("pfact", task.pfact).add("nbmin", task.nbmin).add("busy", task.busy ? 1 : 0);
      break;
    case Kind::ring:
      params.add("bytes", task.bytes).add("scope", task.off ? "off" : "on").add("contended", task.contended ? 1 : 0);
      params.add("busy", task.busy ? 1 : 0).add("senders", senders);
      break;
    case Kind::latency:
      params.add("bytes", task.bytes).add("scope", task.off ? "off" : "on").add("busy", task.busy ? 1 : 0);
      break;
  }
  params.add("ranks", place.ranks);
  return params;
}

double flop_of(const Task& task) {
  const auto number = [](Index value) { return static_cast<double>(value); };
  switch (task.kind) {
    case Kind::gemm:
    case Kind::narrow:
    case Kind::node:
      return 2 * number(task.rows) * number(task.columns) * number(task.k) * task.threads;
    case Kind::solve:
      return number(task.k) * number(task.k) * number(task.columns);
    case Kind::panel:
      return number(task.k) * number(task.k) * (number(task.rows) - number(task.k) / 3);
    default:
      return 0;
  }
}

Ring ring_within(const std::vector<std::string>& hosts) { return rings_of(by_host(hosts), hosts); }

Ring ring_across(const std::vector<std::string>& hosts) {
  std::vector<std::vector<int>> circles;
  for (const auto& ranks : by_host(hosts)) {
    if (circles.size() < ranks.size()) circles.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) circles[i].push_back(ranks[i]);
  }
  return rings_of(circles, hosts);
}

}  // namespace shakedown::hpl_probe
