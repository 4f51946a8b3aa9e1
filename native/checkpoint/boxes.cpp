#include "boxes.hpp"

#include <algorithm>

#include "include/shakedown/checkpoint.h"

namespace shakedown::checkpoint {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Elements from the begin of an array to this index.
std::uint64_t place_of(const Shape& index, const Shape& shape) {
  std::uint64_t place = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + index[d];
  return place;
}

/// Visits the first index of every row (all dimensions but the last) of a box of this shape. No dimensions: one row.
template <class Visit>
void for_each_row(const Shape& shape, Visit&& visit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  Shape index(shape.size(), 0);
  while (true) {
    visit(index);
    std::size_t d = shape.empty() ? 0 : shape.size() - 1;
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

Shape sum(const Shape& a, const Shape& b) {
  Shape both = a;
  for (std::size_t d = 0; d < both.size(); ++d) both[d] += b[d];
  return both;
}

std::uint64_t row_length(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

std::string inside(const Shape& part, const Shape& offset, const Shape& whole, const std::string& of_what) {
  for (std::size_t d = 0; d < part.size(); ++d) {
    if (offset[d] > whole[d] || part[d] > whole[d] - offset[d]) {
      return "in dimension " + std::to_string(d) + ", " + std::to_string(part[d]) + " elements from " +
             std::to_string(offset[d]) + " on do not lie within " + of_what + ", which has " + std::to_string(whole[d]);
    }
  }
  return "";
}

}  // namespace

std::string why_not_protected(const Protected& part) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
  if (part.name.empty()) return "it has no name";
  const std::uint64_t each = element_bytes(part.type);
  if (each == 0) return "type " + std::to_string(part.type) + " is unknown: see shakedown_ckpt_type";
  const auto elements = volume(part.box.local);
  if (!elements || *elements > kMostBytes / each) return "its shape has more elements than memory can";
  if (part.pointer == nullptr && *elements > 0) return "its pointer is NULL";
  if (!part.box.global.empty()) {
    if (!volume(part.box.global)) return "its global shape has more elements than can be counted";
    if (std::string why = inside(part.box.local, part.box.offset, part.box.global, "the global array"); !why.empty())
      return why;
  }
  if (part.memory_shape.empty()) return "";
  if (!volume(part.memory_shape)) return "its shape in memory has more elements than memory can";
  return inside(part.box.local, part.memory_offset, part.memory_shape, "the array in memory");
}

std::uint64_t bytes_of(const Protected& part) { return volume(part.box.local).value_or(0) * element_bytes(part.type); }

void for_each_run(const Protected& part, const std::function<void(std::uint8_t*, std::uint64_t)>& visit) {
  const std::uint64_t each = element_bytes(part.type);
  const Shape& local = part.box.local;
  if (part.memory_shape.empty() || part.memory_shape == local) {
    if (const std::uint64_t bytes = bytes_of(part); bytes > 0) visit(part.pointer, bytes);
    return;
  }
  for_each_row(local, [&](const Shape& index) {
    visit(part.pointer + place_of(sum(index, part.memory_offset), part.memory_shape) * each, row_length(local) * each);
  });
}

std::optional<Overlap> overlap_of(const Box& a, const Box& b) {
  Overlap shared;
  for (std::size_t d = 0; d < a.local.size(); ++d) {
    const std::uint64_t begin = std::max(a.offset[d], b.offset[d]);
    const std::uint64_t end = std::min(a.offset[d] + a.local[d], b.offset[d] + b.local[d]);
    if (begin >= end) return std::nullopt;
    shared.offset.push_back(begin);
    shared.shape.push_back(end - begin);
  }
  return shared;
}

void for_each_shared_run(const Box& from, const Box& to, const Overlap& shared,
                         const std::function<void(const SharedRun&)>& visit) {
  const auto place_in = [&](const Box& box, const Shape& index) {
    Shape at = sum(index, shared.offset);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] -= box.offset[d];
    return place_of(at, box.local);
  };
  for_each_row(shared.shape, [&](const Shape& index) {
    visit({place_in(from, index), place_in(to, index), row_length(shared.shape)});
  });
}

bool covered(const Box& whole, const std::vector<Overlap>& parts) {
  const std::uint64_t needed = volume(whole.local).value_or(0);
  if (needed == 0) return true;
  std::uint64_t total = 0;
  for (const Overlap& part : parts) total += volume(part.shape).value_or(0);
  if (total < needed) return false;
  bool disjoint = true;
  for (std::size_t a = 0; a < parts.size() && disjoint; ++a) {
    for (std::size_t b = a + 1; b < parts.size() && disjoint; ++b) {
      disjoint = !overlap_of({parts[a].shape, {}, parts[a].offset}, {parts[b].shape, {}, parts[b].offset});
    }
  }
  if (disjoint) return total == needed;
  std::vector<bool> seen(needed, false);
  for (const Overlap& part : parts) {
    for_each_shared_run({part.shape, {}, part.offset}, whole, part, [&](const SharedRun& run) {
      std::fill_n(seen.begin() + static_cast<std::ptrdiff_t>(run.to), run.elements, true);
    });
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

}  // namespace shakedown::checkpoint
