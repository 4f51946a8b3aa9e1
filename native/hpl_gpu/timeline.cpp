#include "timeline.hpp"

#include <algorithm>
#include <iterator>

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

std::vector<double> uncover(const std::vector<Layered>& all, std::size_t layers, double until) {
  struct Edge {
    double at;
    std::size_t layer;
    int change;
  };
  std::vector<Edge> edges;
  for (const Layered& one : all) {
    const double begin = std::clamp(one.begin, 0.0, until), end = std::clamp(one.end, begin, until);
    if (!(end > begin)) continue;
    edges.push_back({begin, one.layer, 1});
    edges.push_back({end, one.layer, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::vector<double> seconds(layers + 1);
  std::vector<int> open(layers);
  double at = 0;
  const auto charge = [&](double to) {
    const auto busy = std::find_if(open.begin(), open.end(), [](int count) { return count > 0; });
    seconds[static_cast<std::size_t>(busy - open.begin())] += to - at;
    at = to;
  };
  for (const Edge& edge : edges) {
    charge(edge.at);
    open[edge.layer] += edge.change;
  }
  charge(until);
  return seconds;
}

Shares account(const std::vector<Interval>& intervals, double until, double wall) {
  std::vector<Layered> all;
  for (const Interval& one : intervals) {
    if (const int which = layer(one); which >= 0) all.push_back({one.begin, one.end, static_cast<std::size_t>(which)});
  }
  const auto seconds = uncover(all, std::size(kLayers), until);
  Shares shares;
  for (std::size_t i = 0; i < std::size(kLayers); ++i) shares.*kLayers[i] += seconds[i];
  shares.wait = seconds.back();
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
