#include "domain.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace shakedown::hydro {
namespace {

int squarest(int size, std::int64_t columns, std::int64_t rows) {
  int best = 1;
  double least = 0;
  for (int c = 1; c <= size; ++c) {
    if (size % c != 0) continue;
    const int down = size / c;
    const double edge = static_cast<double>(columns) * (down - 1) + static_cast<double>(rows) * (c - 1);
    if (c == 1 || edge < least) {
      best = c;
      least = edge;
    }
  }
  return best;
}

struct Message {
  int peer;
  double* out;
  double* in;
  std::int64_t count;
};

/// Exchange with both neighbours of a dimension at once; messages to a peer of -1 are left out.
void exchange(MPI_Comm comm, const std::array<Message, 2>& messages) {
  std::array<MPI_Request, 4> requests;
  int count = 0;
  for (int k = 0; k < 2; ++k) {
    const auto& one = messages[static_cast<std::size_t>(k)];
    if (one.peer < 0) continue;
    const int numbers = static_cast<int>(one.count);
    // Tag 0 goes to the right or up, tag 1 to the left or down.
    MPI_Irecv(one.in, numbers, MPI_DOUBLE, one.peer, k == 0 ? 0 : 1, comm,
              &requests[static_cast<std::size_t>(count++)]);
    MPI_Isend(one.out, numbers, MPI_DOUBLE, one.peer, k == 0 ? 1 : 0, comm,
              &requests[static_cast<std::size_t>(count++)]);
  }
  if (count > 0) MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

Domain divide(MPI_Comm comm, std::int64_t columns, std::int64_t rows, int rank_columns) {
  Domain d;
  d.comm = comm;
  MPI_Comm_rank(comm, &d.rank);
  MPI_Comm_size(comm, &d.size);
  d.columns = columns;
  d.rows = rows;
  if (rank_columns > 0 && d.size % rank_columns != 0) {
    throw usage(
        "--rank-columns " + std::to_string(rank_columns) + " does not divide " + std::to_string(d.size) + " ranks",
        "name a divisor, or 0 for the squarest grid");
  }
  d.rank_columns = rank_columns > 0 ? rank_columns : squarest(d.size, columns, rows);
  d.rank_rows = d.size / d.rank_columns;
  if (columns / d.rank_columns < kGhosts || rows / d.rank_rows < kGhosts) {
    throw usage(std::to_string(columns) + " x " + std::to_string(rows) + " cells are too few for " +
                    std::to_string(d.rank_columns) + " x " + std::to_string(d.rank_rows) + " ranks",
                "each rank needs 2 x 2 cells: ask for a larger --n or fewer ranks");
  }
  const int c = d.rank % d.rank_columns, r = d.rank / d.rank_columns;
  d.own = {part_begin(columns, d.rank_columns, c), part_begin(columns, d.rank_columns, c + 1),
           part_begin(rows, d.rank_rows, r), part_begin(rows, d.rank_rows, r + 1)};
  d.left = c > 0 ? d.rank - 1 : -1;
  d.right = c + 1 < d.rank_columns ? d.rank + 1 : -1;
  d.low = r > 0 ? d.rank - d.rank_columns : -1;
  d.high = r + 1 < d.rank_rows ? d.rank + d.rank_columns : -1;
  return d;
}

Ghosts::Ghosts(const Domain& domain) : domain_(domain) {
  const auto numbers = static_cast<std::size_t>((domain.own.high - domain.own.low) * kVariables * kGhosts);
  if (domain.left >= 0) to_left_.resize(numbers), from_left_.resize(numbers);
  if (domain.right >= 0) to_right_.resize(numbers), from_right_.resize(numbers);
}

void Ghosts::columns_of(const Field& field, std::int64_t low, std::int64_t high) {
  const std::int64_t n = field.columns();
  for (std::int64_t row = low; row < high; ++row) {
    for (int v = 0; v < kVariables; ++v) {
      double* const line = field.line(row, v);
      const double sign = v == kAlongX ? -1 : 1;
      const auto place = static_cast<std::size_t>((row * kVariables + v) * kGhosts);
      if (domain_.left < 0) {
        line[-1] = sign * line[0];
        line[-2] = sign * line[1];
      } else {
        std::copy_n(line, kGhosts, &to_left_[place]);
      }
      if (domain_.right < 0) {
        line[n] = sign * line[n - 1];
        line[n + 1] = sign * line[n - 2];
      } else {
        std::copy_n(line + n - kGhosts, kGhosts, &to_right_[place]);
      }
    }
  }
}

void Ghosts::take_columns(const Field& field, std::int64_t low, std::int64_t high) const {
  for (std::int64_t row = low; row < high; ++row) {
    for (int v = 0; v < kVariables; ++v) {
      const auto place = static_cast<std::size_t>((row * kVariables + v) * kGhosts);
      double* const line = field.line(row, v);
      if (domain_.left >= 0) std::copy_n(&from_left_[place], kGhosts, line - kGhosts);
      if (domain_.right >= 0) std::copy_n(&from_right_[place], kGhosts, line + field.columns());
    }
  }
}

void Ghosts::rows_of(const Field& field) const {
  const std::int64_t n = field.rows();
  for (int v = 0; v < kVariables; ++v) {
    const double sign = v == kAlongY ? -1 : 1;
    for (std::int64_t k = 0; k < kGhosts; ++k) {
      for (std::int64_t i = -kGhosts; i < field.columns() + kGhosts; ++i) {
        if (domain_.low < 0) field.line(-1 - k, v)[i] = sign * field.line(k, v)[i];
        if (domain_.high < 0) field.line(n + k, v)[i] = sign * field.line(n - 1 - k, v)[i];
      }
    }
  }
}

void Ghosts::fill(const Field& field, Team& team, int thread) {
  const std::int64_t low = part_begin(field.rows(), team.size(), thread);
  const std::int64_t high = part_begin(field.rows(), team.size(), thread + 1);
  columns_of(field, low, high);
  team.barrier();
  if (domain_.left >= 0 || domain_.right >= 0) {
    if (thread == 0) {
      exchange(
          domain_.comm,
          {Message{domain_.left, to_left_.data(), from_left_.data(), static_cast<std::int64_t>(to_left_.size())},
           Message{domain_.right, to_right_.data(), from_right_.data(), static_cast<std::int64_t>(to_right_.size())}});
    }
    team.barrier();
    take_columns(field, low, high);
    team.barrier();
  }
  if (thread == 0) {
    // Rows lie together in memory, with their ghosts to the left and right: what a corner needs goes with them.
    const auto start = [&](std::int64_t row) { return field.line(row, 0) - Field::kLead; };
    const std::int64_t count = kGhosts * kVariables * field.pitch();
    rows_of(field);
    exchange(domain_.comm, {Message{domain_.low, start(0), start(-kGhosts), count},
                            Message{domain_.high, start(field.rows() - kGhosts), start(field.rows()), count}});
  }
  team.barrier();
}

}  // namespace shakedown::hydro
