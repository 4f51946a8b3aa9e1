#include "sell.hpp"

#include <algorithm>
#include <array>

#include "common/error.hpp"

namespace shakedown::hpcg {
namespace {

/// Where the entries of one chunk go. A slot is of a distance from the diagonal; entries of the halo take what is free.
struct Plan {
  static constexpr int kMost = 256;
  std::array<std::int64_t, kMost> lower{}, upper{};  // distances, ascending
  int lowers = 0, uppers = 0;
  int extra = 0;  // slots for the halo alone, before the others of the lower part
};

void insert(std::array<std::int64_t, Plan::kMost>& list, int& count, int& hint, std::int64_t distance) {
  while (hint < count && list[static_cast<std::size_t>(hint)] < distance) ++hint;
  if (hint < count && list[static_cast<std::size_t>(hint)] == distance) return;
  if (count == Plan::kMost) throw cannot("a matrix of more than 256 distances in eight rows");
  std::copy_backward(list.begin() + hint, list.begin() + count, list.begin() + count + 1);
  list[static_cast<std::size_t>(hint)] = distance;
  ++count;
}

struct Rows {
  const Csr& a;
  std::int64_t first, last, own;  // of the chunk; and the rows of this rank
  Rows(const Csr& csr, std::int64_t chunk)
      : a(csr), first(chunk * kRows), last(std::min(first + kRows, csr.rows())), own(csr.rows()) {}
  template <class Visit>
  void each(std::int64_t row, Visit&& visit) const {
    for (std::int64_t k = a.begin[row]; k < a.begin[row + 1]; ++k) visit(std::int64_t{a.columns[k]}, a.values[k]);
  }
};

Plan plan_of(const Rows& rows) {
  Plan plan;
  std::array<int, kRows> lower{}, upper{}, halo{};
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    const auto i = static_cast<std::size_t>(row - rows.first);
    int at_lower = 0, at_upper = 0;
    rows.each(row, [&](std::int64_t column, double) {
      if (column >= rows.own) {
        ++halo[i];
      } else if (column < row) {
        insert(plan.lower, plan.lowers, at_lower, column - row), ++lower[i];
      } else if (column > row) {
        insert(plan.upper, plan.uppers, at_upper, column - row), ++upper[i];
      }
    });
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    plan.extra = std::max(plan.extra, halo[i] - (plan.lowers - lower[i]) - (plan.uppers - upper[i]));
  }
  return plan;
}

/// The slots of one chunk, to be filled.
struct Slots {
  double* lower_values;
  std::int32_t* lower_columns;
  double* upper_values;
  std::int32_t* upper_columns;
};

/// Puts a row's entries of the halo into slots that it has free.
void fill_halo(const Rows& rows, const Plan& plan, std::int64_t row, const std::array<bool, Plan::kMost>& taken_lower,
               const std::array<bool, Plan::kMost>& taken_upper, const Slots& to) {
  const std::int64_t i = row - rows.first;
  const int lowers = plan.lowers + plan.extra;
  int slot = 0;
  rows.each(row, [&](std::int64_t column, double value) {
    if (column < rows.own) return;
    const auto taken = [&](int s) {
      return s < lowers ? taken_lower[static_cast<std::size_t>(s)] : taken_upper[static_cast<std::size_t>(s - lowers)];
    };
    while (taken(slot)) ++slot;
    const bool low = slot < lowers;
    const std::int64_t at = (low ? slot : slot - lowers) * kRows + i;
    (low ? to.lower_values : to.upper_values)[at] = value;
    (low ? to.lower_columns : to.upper_columns)[at] = static_cast<std::int32_t>(column);
    ++slot;
  });
}

void fill(const Rows& rows, const Plan& plan, const Slots& to, double* diagonal) {
  const int lowers = plan.lowers + plan.extra;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t row = rows.first + i;
    // What stands in line with the neighbours; a slot of the halo alone begins in line with the rows.
    for (int s = 0; s < lowers; ++s) {
      const std::int64_t distance = s < plan.extra ? 0 : plan.lower[static_cast<std::size_t>(s - plan.extra)];
      to.lower_values[s * kRows + i] = 0;
      to.lower_columns[s * kRows + i] = static_cast<std::int32_t>(row + distance);
    }
    for (int s = 0; s < plan.uppers; ++s) {
      to.upper_values[s * kRows + i] = 0;
      to.upper_columns[s * kRows + i] = static_cast<std::int32_t>(row + plan.upper[static_cast<std::size_t>(s)]);
    }
    diagonal[i] = 1;
    if (row >= rows.last) continue;
    std::array<bool, Plan::kMost> taken_lower{}, taken_upper{};
    int lower = 0, upper = 0, halo = 0;
    rows.each(row, [&](std::int64_t column, double value) {
      if (column >= rows.own) {
        ++halo;
      } else if (column == row) {
        diagonal[i] = value;
      } else if (column < row) {
        while (plan.lower[static_cast<std::size_t>(lower)] != column - row) ++lower;
        to.lower_values[(plan.extra + lower) * kRows + i] = value;
        taken_lower[static_cast<std::size_t>(plan.extra) + static_cast<std::size_t>(lower)] = true;
      } else {
        while (plan.upper[static_cast<std::size_t>(upper)] != column - row) ++upper;
        to.upper_values[upper * kRows + i] = value;
        taken_upper[static_cast<std::size_t>(upper)] = true;
      }
    });
    if (halo > 0) fill_halo(rows, plan, row, taken_lower, taken_upper, to);
  }
}

/// Slots with columns of the chunk's own rows, counted from the diagonal; whether they are a plain chain.
std::uint8_t serial_of(const std::int32_t* columns, std::int64_t slots, std::int64_t first, bool lower) {
  std::int64_t serial = 0;
  const auto slot = [&](std::int64_t k) { return columns + (lower ? slots - 1 - k : k) * kRows; };
  for (std::int64_t k = 0; k < slots; ++k) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int64_t column = slot(k)[i];
      const bool own = column >= first && column < first + kRows && (lower ? column < first + i : column > first + i);
      if (own) serial = k + 1;
    }
  }
  if (serial >= kChained) throw cannot("a matrix whose neighbouring rows have more than 127 entries of each other");
  if (serial != 1) return static_cast<std::uint8_t>(serial);
  bool chained = true;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t next = first + i + (lower ? -1 : 1);
    if (next >= first && next < first + kRows) chained = chained && slot(0)[i] == next;
  }
  return static_cast<std::uint8_t>(chained ? 1 | kChained : 1);
}

}  // namespace

Sell::Sell(Team& team, const Csr& a) : chunks_((a.rows() + kRows - 1) / kRows) {
  diagonal_ = Array<double>(chunks_ * kRows);
  for (Side* side : {&lower_, &upper_}) {
    side->begin = Array<std::int64_t>(chunks_ + 1);
    side->serial = Array<std::uint8_t>(chunks_);
  }
  const auto each = [&](auto&& visit) {
    team.run([&](int thread) {
      const auto mine = part_of(chunks_ * kRows, team.size(), thread);
      for (std::int64_t c = mine.first / kRows; c < mine.last / kRows; ++c) visit(thread, c);
    });
  };
  each([&](int, std::int64_t c) {
    const Plan plan = plan_of({a, c});
    lower_.begin[c + 1] = plan.lowers + plan.extra;
    upper_.begin[c + 1] = plan.uppers;
  });
  for (Side* side : {&lower_, &upper_}) {
    for (std::int64_t c = 0; c < chunks_; ++c) side->begin[c + 1] += side->begin[c];
    side->values = Array<double>(side->begin[chunks_] * kRows);
    side->columns = Array<std::int32_t>(side->begin[chunks_] * kRows);
  }
  struct alignas(128) Count {
    Entries entries;
  };
  std::vector<Count> counts(static_cast<std::size_t>(team.size()));
  each([&](int thread, std::int64_t c) {
    const std::int64_t low = lower_.begin[c] * kRows, high = upper_.begin[c] * kRows;
    const Slots to{lower_.values.data() + low, lower_.columns.data() + low, upper_.values.data() + high,
                   upper_.columns.data() + high};
    const Rows rows(a, c);
    fill(rows, plan_of(rows), to, diagonal_.data() + c * kRows);
    lower_.serial[c] = serial_of(to.lower_columns, lower_.begin[c + 1] - lower_.begin[c], rows.first, true);
    upper_.serial[c] = serial_of(to.upper_columns, upper_.begin[c + 1] - upper_.begin[c], rows.first, false);
    auto& count = counts[static_cast<std::size_t>(thread)].entries;
    for (std::int64_t at = 0; at < lower_.begin[c + 1] * kRows - low; ++at) count.lower += to.lower_values[at] != 0;
    for (std::int64_t at = 0; at < upper_.begin[c + 1] * kRows - high; ++at) count.upper += to.upper_values[at] != 0;
  });
  for (const auto& one : counts) {
    entries_.lower += one.entries.lower;
    entries_.upper += one.entries.upper;
  }
}

Matrix Sell::view() const {
  return {lower_.view(), upper_.view(), diagonal_.data(), lower_.serial.data(), upper_.serial.data()};
}

}  // namespace shakedown::hpcg
