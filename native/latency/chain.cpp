// One random cycle through all lines, and the loads along it.
#include <cmath>
#include <random>
#include <string>

#include "latency.hpp"

namespace shakedown::latency {

Link& Chain::at(std::uint64_t line) const {
  return *reinterpret_cast<Link*>(static_cast<char*>(buffer_.data()) + line * line_bytes_);
}

Chain::Chain(std::size_t bytes, std::size_t line_bytes, Pages pages, const Placement& placement)
    : line_bytes_(line_bytes), links_(bytes / line_bytes) {
  if (links_ < 2) {
    throw usage(std::to_string(bytes) + " bytes are fewer than two lines of " + std::to_string(line_bytes),
                "larger sizes");
  }
  require_memory(bytes, "a chain of " + show_bytes(bytes));
  buffer_ = Buffer(bytes, pages, placement);
  for (std::uint64_t i = 0; i < links_; ++i) at(i).next = &at(i);
  std::mt19937_64 random(links_);                   // the same chain in every run
  for (std::uint64_t i = links_ - 1; i > 0; --i) {  // Sattolo: every result is one cycle
    std::swap(at(i).next, at(std::uniform_int_distribution<std::uint64_t>(0, i - 1)(random)).next);
  }
  Link* link = &at(0);
  for (std::uint64_t place = 0; place < links_; ++place) {
    link->place = place;
    link = const_cast<Link*>(link->next);
  }
}

const Link* follow(const Link* from, std::uint64_t loads) {
  for (std::uint64_t done = 0; done < loads; done += kUnrolled) {
#pragma GCC unroll 64
    for (std::uint64_t i = 0; i < kUnrolled; ++i) from = from->next;
  }
  return from;
}

double defect(const Link* end, std::uint64_t loads, std::uint64_t links) {
  return std::fabs(static_cast<double>(end->place) - static_cast<double>(loads % links));
}

}  // namespace shakedown::latency
