#include "geometry.hpp"

#include <algorithm>

namespace shakedown::hpl_gpu {
namespace {

/// The columns are divided anew when the left side has shrunk to so much of its share: until then it shrinks alone, and
/// the right side's products keep their shape.
constexpr double kResplit = 0.3;
constexpr Index kStep = 32;  // columns: what products like

}  // namespace

std::vector<Span> spans_of(Index n, Index nb, Index tail_nb, Index tail_from) {
  std::vector<Span> spans;
  for (Index begin = 0; begin < n;) {
    const Index block_end = std::min(n, (begin / nb + 1) * nb);
    const Index width = tail_nb > 0 && begin >= tail_from ? tail_nb : nb;
    const Index end = std::min(block_end, begin + width);
    spans.push_back({begin, end - begin});
    begin = end;
  }
  return spans;
}

Geometry::Geometry(const Part& of, std::vector<Span> with, double split) : part(of), spans(std::move(with)) {
  Index middle = -1;
  for (int k = 0; k < panels(); ++k) {
    const Index begin = k + 1 < panels() ? local(span(k + 1).end()) : local(span(k).end());
    if (part.rows.parts == 1) {
      splits_.push_back(begin);
      continue;
    }
    const Index rest = part.width - begin;
    const auto right = static_cast<Index>(split * static_cast<double>(rest));
    const Index fresh = begin + std::clamp<Index>((rest - right) / kStep * kStep, 0, rest);
    if (middle < begin || static_cast<double>(middle - begin) < kResplit * static_cast<double>(fresh - begin)) {
      middle = fresh;
    }
    splits_.push_back(middle);
  }
}

Range Geometry::columns(int k, Side side) const {
  const bool last = k + 1 >= panels();
  const Index begin = local(span(k).end());
  const Index bulk = last ? begin : local(span(k + 1).end());
  const Index middle = splits_[static_cast<std::size_t>(k)];
  switch (side) {
    case Side::ahead:
      return {begin, bulk};
    case Side::next:
      return {bulk, k + 2 < panels() ? std::min(middle, local(span(k + 2).end())) : bulk};
    case Side::left:
      return {bulk, middle};
    case Side::right:
      break;
  }
  return {middle, part.width};
}

Index Geometry::most(Side side) const {
  Index most = 0;
  for (int k = 0; k < panels(); ++k) most = std::max(most, columns(k, side).count());
  return most;
}

std::vector<bool> halving(const Geometry& geometry, Index least, const std::function<bool(int)>& among) {
  std::vector<bool> taken(geometry.spans.size());
  Index before = 0;
  for (int k = 0; k < geometry.panels(); ++k) {
    const Index left = geometry.part.n - geometry.span(k).begin;
    if (left <= least || !among(k) || (before > 0 && 2 * left > before)) continue;
    taken[static_cast<std::size_t>(k)] = true;
    before = left;
  }
  return taken;
}

Geometry geometry_of(const Distribution& dealt, int row, int column) {
  Part part{dealt.n, {dealt.nb, dealt.p}, {dealt.nb, dealt.q}, row, column, 0, 0};
  part.height = part.rows.count(dealt.n, row);
  part.width = part.columns.count(dealt.columns, column);
  return {part, spans_of(dealt.n, dealt.nb, dealt.tail_nb, dealt.tail_from), dealt.split};
}

}  // namespace shakedown::hpl_gpu
