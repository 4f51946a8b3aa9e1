// The interface of hpl on one screen: what a run is told, where its ranks stand, and what it gives.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "common/blas.hpp"
#include "common/memory.hpp"
#include "layout.hpp"

namespace shakedown::hpl {

// In HPL.dat's codes and their order.
enum class Looking { left, crout, right };
enum class Broadcast { ring, ring_modified, two_rings, two_rings_modified, spread, spread_modified };
enum class Exchange { binary, spread, mix };
/// Solving for the rows of U: by blocks of the triangle whose diagonal is inverted, by the whole inverse, or by DTRSM.
enum class Solve { recursive, inverse, blas };

const char* name_of(Looking looking);
const char* name_of(Broadcast broadcast);
const char* name_of(Exchange exchange);
const char* name_of(Solve solve);

/// One factorization, every parameter resolved.
struct Config {
  Index n = 0;
  Index nb = 192;
  int p = 1;
  int q = 1;
  bool column_major = false;  // how ranks fill the grid
  Broadcast broadcast = Broadcast::ring_modified;
  int depth = 1;
  Looking pfact = Looking::left;
  Looking rfact = Looking::right;
  Index nbmin = 8;
  int ndiv = 2;
  Exchange exchange = Exchange::mix;
  Index exchange_threshold = 64;  // columns: binary exchange up to so many
  Solve solve = Solve::recursive;
  double split = 0.5;             // of the trailing columns at the start, those whose rows are exchanged second
  Index segment_bytes = 1 << 20;  // of a panel, sent in one piece
  int panel_threads = 0;          // 0: chosen for each panel
  bool progress_thread = false;
  Index stop_after = -1;  // panels whose update is the last; -1: all
};

/// This rank in a grid of p x q; a rank outside has row -1.
struct Grid {
  int p = 1, q = 1;
  int row = 0, column = 0;
  MPI_Comm all = MPI_COMM_NULL;         // the ranks of the grid, in grid order
  MPI_Comm in_row = MPI_COMM_NULL;      // ranks = columns of the grid
  MPI_Comm in_column = MPI_COMM_NULL;   // ranks = rows of the grid
  MPI_Comm for_pivots = MPI_COMM_NULL;  // as in_column, for messages of their own
  [[nodiscard]] bool inside() const { return row >= 0; }
};

/// Where the thread-seconds of a factorization went.
struct Shares {
  double update = 0, panel = 0, solve = 0, rows = 0, messages = 0, wait = 0, other = 0;
};

/// Every account of Shares, with the name that its case has.
struct Account {
  const char* name;
  double Shares::*seconds;
};
inline constexpr Account kAccounts[] = {
    {"update", &Shares::update},     {"panel", &Shares::panel}, {"solve", &Shares::solve}, {"rows", &Shares::rows},
    {"messages", &Shares::messages}, {"wait", &Shares::wait},   {"other", &Shares::other}};

inline double total(const Shares& shares) {
  double sum = 0;
  for (const auto& account : kAccounts) sum += shares.*account.seconds;
  return sum;
}

struct Result {
  double seconds = 0;          // this rank's
  std::vector<double> stamps;  // when each panel's update was done, seconds from the start
  Shares shares;               // thread-seconds
  std::vector<double> x;       // the solution, on every rank; empty for a run that was stopped
  std::vector<Index> pivots;   // global rows, of the panels of this rank's process columns seen: all of them
};

}  // namespace shakedown::hpl
