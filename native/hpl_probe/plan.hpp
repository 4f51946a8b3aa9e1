// What is measured, in which order, and who sends to whom: pure, without MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/json.hpp"

namespace shakedown::hpl_probe {

using Index = std::int64_t;

enum class Kind { gemm, narrow, solve, panel, rows, ring, latency, node };
inline constexpr int kKinds = 8;
const char* name_of(Kind kind);
/// Throws a usage error for a word that names none.
Kind parse_kind(const std::string& word);

/// The parameters that are swept, and the words of --only.
struct Sweep {
  std::vector<Kind> only;  // empty: all
  std::vector<Index> k = {64, 96, 128, 192, 256, 320, 384, 512};
  std::vector<Index> nb = {128, 192, 256};
  std::vector<Index> narrow_rows = {32, 64, 128, 256, 512};
  std::vector<Index> narrow_columns = {64, 128, 192, 256, 512};
  std::vector<Index> panel_rows = {4096, 16384};
  std::vector<Index> panel_threads;  // empty: powers of two to all
  std::vector<std::string> pfact = {"left"}, trsm = {"recursive", "inverse", "blas"};
  std::vector<Index> nbmin = {8};
  std::vector<Index> sizes = {1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};  // bytes
  Index rows = 0, columns = 0;  // of a thread's product, of the matrix; 0: by the threads
  std::uint64_t seed = 1;
};

/// The NB of narrow products, of those of whole hosts and of those beside other probes: the middle one.
inline Index middle_nb(const Sweep& sweep) { return sweep.nb[sweep.nb.size() / 2]; }

/// Where the ranks are, as far as the plan must know.
struct Place {
  int ranks = 1, threads = 1;
  bool on = false, off = false;  // whether a host has two ranks, and whether there are two hosts
};

/// One case. What its kind does not need is at its default.
struct Task {
  Kind kind = Kind::gemm;
  Index rows = 0, columns = 0, k = 0;  // k: the depth of a product, or NB
  int threads = 1;                     // that take part
  std::string pfact, trsm;
  Index nbmin = 0;
  Index bytes = 0;
  bool off = false, contended = false, busy = false;
};

/// The cases that the sweep asks for and the place allows, in an order that the seed chooses. Throws a usage error
/// where nothing is left.
std::vector<Task> make_plan(const Sweep& sweep, const Place& place);

/// The parameters of a case; `senders` are the messages that a host sends at once.
Object params_of(const Task& task, const Place& place, int senders);
/// 2 m n k, NB^2 columns, NB^2 (rows - NB / 3); 0 for what computes nothing. Of one rank, once.
double flop_of(const Task& task);

/// For each rank, to whom it sends and from whom it receives; -1: it takes no part.
struct Ring {
  std::vector<int> to, from;
  int senders = 0;  // the most ranks of one host that send
  int first = -1;   // the lowest rank that takes part: with the rank it sends to, the pair that is measured alone
};

/// The ranks of each host round that host.
Ring ring_within(const std::vector<std::string>& hosts);
/// The i-th ranks of all hosts round these: every message leaves its host.
Ring ring_across(const std::vector<std::string>& hosts);

/// Rows of a thread's product and columns of the matrix where none were named: products of full speed, and a chunk of
/// columns for every thread.
Index default_rows();
Index default_columns(int threads);

}  // namespace shakedown::hpl_probe
