#include "field.hpp"

#include <bit>
#include <utility>

namespace shakedown::workers {

void Field::restart() {
  for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = static_cast<double>(i * 7919 % 1000) / 1000;
}

void Field::sweep() {
  const std::size_t last = now_.size() - 1;
  const double* __restrict from = now_.data();
  double* __restrict to = next_.data();
  to[0] = 0.25 * from[last] + 0.5 * from[0] + 0.25 * from[1];
  for (std::size_t i = 1; i < last; ++i) to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
  to[last] = 0.25 * from[last - 1] + 0.5 * from[last] + 0.25 * from[0];
  std::swap(now_, next_);
}

std::uint64_t Field::digest() const {
  std::uint64_t found = 0xcbf29ce484222325;  // FNV-1a, a cell at a time
  for (const double cell : now_) found = (found ^ std::bit_cast<std::uint64_t>(cell)) * 0x100000001b3;
  return found;
}

}  // namespace shakedown::workers
