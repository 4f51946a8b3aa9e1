#include "rows.hpp"

#include <unordered_map>

namespace shakedown::hpl {

RowPlan plan_rows(Index first, std::span<const Index> pivots) {
  const auto count = static_cast<Index>(pivots.size());
  RowPlan plan;
  plan.first = first;
  plan.source.resize(pivots.size());
  for (Index i = 0; i < count; ++i) plan.source[static_cast<std::size_t>(i)] = first + i;
  std::unordered_map<Index, Index> below;  // position below the block -> the row that lies there now
  std::vector<Index> touched;              // its keys, in the order met
  for (Index i = 0; i < count; ++i) {
    const Index pivot = pivots[static_cast<std::size_t>(i)];
    auto& here = plan.source[static_cast<std::size_t>(i)];
    if (pivot < first + count) {
      std::swap(here, plan.source[static_cast<std::size_t>(pivot - first)]);
    } else {
      const auto [found, fresh] = below.try_emplace(pivot, pivot);
      if (fresh) touched.push_back(pivot);
      std::swap(here, found->second);
    }
  }
  for (const Index to : touched) {
    if (below.at(to) != to) plan.displaced.push_back({below.at(to), to});
  }
  return plan;
}

RowShares share_rows(const RowPlan& plan, const Cyclic& rows, int me) {
  RowShares shares;
  shares.source_row = rows.owner(plan.first);
  std::vector<std::vector<Index>> by_owner(static_cast<std::size_t>(rows.parts));
  for (std::size_t i = 0; i < plan.source.size(); ++i) {
    by_owner[static_cast<std::size_t>(rows.owner(plan.source[i]))].push_back(static_cast<Index>(i));
  }
  for (const auto& list : by_owner) {
    shares.begins.push_back(static_cast<Index>(shares.order.size()));
    shares.order.insert(shares.order.end(), list.begin(), list.end());
  }
  shares.begins.push_back(static_cast<Index>(shares.order.size()));
  for (const Index i : by_owner[static_cast<std::size_t>(me)]) {
    shares.mine.push_back(rows.local(plan.source[static_cast<std::size_t>(i)]));
  }
  shares.sent.resize(static_cast<std::size_t>(rows.parts));
  for (const auto& move : plan.displaced) {
    const int from = rows.owner(move.from);
    const int to = rows.owner(move.to);
    if (from == me && to == me) {
      shares.kept.emplace_back(rows.local(move.from), rows.local(move.to));
    } else if (from == me) {
      shares.sent[static_cast<std::size_t>(to)].push_back(rows.local(move.from));
    } else if (to == me) {
      shares.received.push_back(rows.local(move.to));
    }
  }
  return shares;
}

}  // namespace shakedown::hpl
