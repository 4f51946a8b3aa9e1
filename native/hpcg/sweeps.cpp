#include <sched.h>

#include <algorithm>

#include "sell.hpp"

namespace shakedown::hpcg {

Sweeps::Sweeps(Team& team, Sell& matrix, std::int64_t stretch, std::int64_t block)
    : threads_(static_cast<std::size_t>(team.size())) {
  cut(matrix.chunks(), stretch, block);
  connect(team, matrix);
}

void Sweeps::cut(std::int64_t chunks, std::int64_t stretch, std::int64_t block) {
  block_of_.resize(static_cast<std::size_t>(chunks));
  const std::int64_t step = std::max<std::int64_t>(2, (block + kRows - 1) / kRows);
  const auto count = static_cast<std::int64_t>(threads_.size());
  std::int64_t first = 0;
  for (std::int64_t piece = 0; first < chunks; ++piece) {
    const std::int64_t end = std::min(chunks, (stretch * (piece + 1) + kRows - 1) / kRows);
    auto& blocks = threads_[static_cast<std::size_t>(piece % count)].blocks;
    for (; first < end; first += step) {
      const std::int64_t last = std::min(first + step, end);
      std::fill(block_of_.begin() + first, block_of_.begin() + last, static_cast<std::int32_t>(places_.size()));
      places_.push_back({static_cast<int>(piece % count), static_cast<std::int64_t>(blocks.size()), piece});
      blocks.push_back({first, last, {}, {}});
    }
    first = end;
  }
}

/// The blocks that a block has entries of. A column that only fills a slot stays where its block is one of these, or
/// next to one in its stretch.
void Sweeps::find_beside(Sell& matrix, const Block& block, std::vector<std::int32_t>& found) const {
  const std::int64_t rows = matrix.chunks() * kRows;
  const auto block_at = [&](std::int64_t column) { return block_of_[static_cast<std::size_t>(column / kRows)]; };
  const auto sort = [&] {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  };
  for (std::int64_t c = block.first; c < block.last; ++c) {
    matrix.each_column(c, [&](std::int32_t column, bool filling, std::int64_t) {
      if (filling || column >= rows) return;
      if (found.empty() || found.back() != block_at(column)) found.push_back(block_at(column));
    });
  }
  sort();
  const std::vector<std::int32_t> real = found;
  const auto is_beside = [&](std::int32_t other) { return std::binary_search(real.begin(), real.end(), other); };
  const auto is_near = [&](std::int32_t other, std::int32_t step) {
    const auto near = static_cast<std::size_t>(std::int64_t{other} + step);
    return is_beside(other + step) && places_[near].stretch == places_[static_cast<std::size_t>(other)].stretch;
  };
  for (std::int64_t c = block.first; c < block.last; ++c) {
    matrix.each_column(c, [&](std::int32_t& column, bool filling, std::int64_t row) {
      if (!filling || column < 0 || column >= rows || is_beside(block_at(column))) return;
      const auto other = block_at(column);
      if (is_near(other, -1) || is_near(other, 1)) {
        found.push_back(other);
      } else {
        column = static_cast<std::int32_t>(row);
      }
    });
  }
  sort();
}

void Sweeps::connect(Team& team, Sell& matrix) {
  if (threads_.size() == 1) return;
  std::vector<std::vector<std::int32_t>> beside(places_.size());
  team.run([&](int thread) {
    for (const auto& block : threads_[static_cast<std::size_t>(thread)].blocks) {
      find_beside(matrix, block, beside[static_cast<std::size_t>(block_of_[static_cast<std::size_t>(block.first)])]);
    }
  });
  // Each of two that share an entry waits for the other, in one direction or the other, whichever of them has it.
  const auto need = [&](std::int32_t who, std::int32_t whom) {
    const Place mine = places_[static_cast<std::size_t>(who)], other = places_[static_cast<std::size_t>(whom)];
    if (mine.thread == other.thread) return;
    auto& block = threads_[static_cast<std::size_t>(mine.thread)].blocks[static_cast<std::size_t>(mine.index)];
    const auto all = static_cast<std::int64_t>(threads_[static_cast<std::size_t>(other.thread)].blocks.size());
    auto& list = whom < who ? block.before : block.behind;
    const std::int64_t done = whom < who ? other.index + 1 : all - other.index;
    const auto same = std::find_if(list.begin(), list.end(), [&](const Need& n) { return n.thread == other.thread; });
    if (same == list.end()) {
      list.push_back({other.thread, done});
    } else {
      same->done = std::max(same->done, done);
    }
  };
  for (std::size_t one = 0; one < beside.size(); ++one) {
    for (const auto other : beside[one]) {
      need(static_cast<std::int32_t>(one), other);
      need(other, static_cast<std::int32_t>(one));
    }
  }
}

void Sweeps::await(const std::atomic<std::int64_t>& progress, std::int64_t sweeps, const Need& need) const {
  const auto all = static_cast<std::int64_t>(of(need).blocks.size());
  const std::int64_t wanted = sweeps * all + need.done;
  for (int turn = 0; progress.load(std::memory_order_acquire) < wanted; ++turn) {
    turn < (1 << 12) ? cpu_relax() : static_cast<void>(sched_yield());
  }
}

}  // namespace shakedown::hpcg
