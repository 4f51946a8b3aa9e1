#include "timeline.hpp"

#include <algorithm>
#include <array>

namespace shakedown::hpl_gpu {
namespace {

using hpl::Shares;

bool in_messages(Op op) { return op == Op::send || op == Op::arrive || op == Op::exchange || op == Op::receive; }

/// Which of the layers a step belongs to, the most telling first; -1: none.
int layer(const Interval& one) {
  switch (one.lane) {
    case Lane::update:
      return one.op == Op::update ? 0 : one.op == Op::solve ? 1 : 2;
    case Lane::panel:
      return 3;
    case Lane::rows:
      return 4;
    case Lane::host:
      return in_messages(one.op) ? 5 : -1;
  }
  return -1;
}

constexpr double Shares::*kLayers[] = {&Shares::update, &Shares::solve, &Shares::rows,
                                       &Shares::panel,  &Shares::rows,  &Shares::messages};

}  // namespace

Shares account(const std::vector<Interval>& intervals, double until, double wall) {
  struct Edge {
    double at;
    int layer, change;
  };
  std::vector<Edge> edges;
  for (const Interval& one : intervals) {
    const int which = layer(one);
    const double begin = std::clamp(one.begin, 0.0, until), end = std::clamp(one.end, begin, until);
    if (which < 0 || !(end > begin)) continue;
    edges.push_back({begin, which, 1});
    edges.push_back({end, which, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  Shares shares;
  std::array<int, std::size(kLayers)> open{};
  double at = 0;
  const auto charge = [&](double to) {
    const auto busy = std::find_if(open.begin(), open.end(), [](int count) { return count > 0; });
    const auto which = static_cast<std::size_t>(busy - open.begin());
    shares.*(busy == open.end() ? &Shares::wait : kLayers[which]) += to - at;
    at = to;
  };
  for (const Edge& edge : edges) {
    charge(edge.at);
    open[static_cast<std::size_t>(edge.layer)] += edge.change;
  }
  charge(until);
  shares.other = wall - until;
  return shares;
}

double panel_seconds(const std::vector<Interval>& intervals) {
  double seconds = 0;
  for (const Interval& one : intervals) {
    if (one.op == Op::factor) seconds += one.end - one.begin;
  }
  return seconds;
}

}  // namespace shakedown::hpl_gpu
