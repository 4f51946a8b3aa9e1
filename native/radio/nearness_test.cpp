// What must be true of the order: it holds every place once, and places that follow each other are near.
#include "nearness.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "testing/check.hpp"

namespace shakedown::radio {
namespace {

void expect_each_once(Checks& checks, const std::vector<std::uint32_t>& order, std::size_t count, const char* what) {
  std::vector<std::uint32_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool each = sorted.size() == count;
  for (std::size_t i = 0; each && i < count; ++i) each = sorted[i] == i;
  checks.that(each, what);
}

/// All crossings of a small square, in an order that is drawn: the curve goes from each to one beside it.
void test_square(Checks& checks) {
  for (const int side : {2, 4, 16, 64}) {
    std::vector<std::pair<double, double>> places;
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column) places.emplace_back(column, row);
    }
    std::shuffle(places.begin(), places.end(), std::mt19937_64(7));
    std::vector<double> x, y;
    for (const auto& place : places) {
      x.push_back(place.first);
      y.push_back(place.second);
    }
    const auto order = by_nearness(x, y);
    expect_each_once(checks, order, places.size(), "each crossing once");
    for (std::size_t i = 1; i < order.size(); ++i) {
      const double apart = std::fabs(x[order[i]] - x[order[i - 1]]) + std::fabs(y[order[i]] - y[order[i - 1]]);
      checks.equal(apart, 1.0, "the next crossing is beside the one before");
    }
  }
}

/// Blocks of places at random cover little more than their share: 16 of 4,096 in a square have a side of 1/16 each.
void test_blocks(Checks& checks) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> draw(-5, 5);
  std::vector<double> x(4096), y(4096);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = draw(random);
    y[i] = draw(random);
  }
  const auto order = by_nearness(x, y);
  expect_each_once(checks, order, x.size(), "each place once");
  double sides = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += kBlockOfPlaces) {
    double least = 5, most = -5;
    for (std::size_t i = begin; i < begin + kBlockOfPlaces; ++i) {
      least = std::min(least, x[order[i]]);
      most = std::max(most, x[order[i]]);
    }
    sides += most - least;
  }
  const double mean = sides / (4096.0 / kBlockOfPlaces);
  checks.that(mean < 2 * 10.0 / 16, "blocks are small");
}

/// Each pair with a place that is new is handed over once, whoever is new and however many threads share the tasks.
void test_pairs(Checks& checks) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> draw(0, 1);
  for (const std::size_t count : {0, 1, 2, 3, 17, 40, 150, 400}) {
    for (const double share : {0.0, 0.02, 0.5, 1.0}) {
      std::vector<double> x(count), y(count);
      std::vector<char> is_new(count);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = draw(random) < 0.1 ? std::nan("") : draw(random);
        y[i] = draw(random);
        is_new[i] = draw(random) < share ? 1 : 0;
      }
      const NearPairs pairs(x, y, is_new, 1 + count % 4);
      std::vector<int> found(count * count);
      NearPairs::Scratch scratch;
      bool fits = true;
      for (std::size_t task = 0; task < pairs.tasks(); ++task) {
        pairs.each(task, scratch, [&](std::span<const PlacePair> some) {
          fits = fits && !some.empty() && some.size() <= NearPairs::kPairsAtOnce;
          for (const auto& [low, high] : some) ++found[low * count + high];
        });
      }
      bool each = true;
      for (std::size_t low = 0; low < count; ++low) {
        for (std::size_t high = 0; high < count; ++high) {
          const bool wanted = low < high && (is_new[low] != 0 || is_new[high] != 0);
          each = each && found[low * count + high] == (wanted ? 1 : 0);
        }
      }
      checks.that(each && fits, "each pair once, of " + std::to_string(count) + " places, " + std::to_string(share));
    }
  }
}

void test_odd(Checks& checks) {
  const double none = std::nan(""), far = std::numeric_limits<double>::infinity();
  checks.that(by_nearness({}, {}).empty(), "no places");
  const std::vector<double> same(5, 3.0);
  expect_each_once(checks, by_nearness(same, same), 5, "places that are the same");
  const std::vector<double> x = {1, none, 2, far, 3}, y = {1, 1, none, 1, 3};
  const auto order = by_nearness(x, y);
  expect_each_once(checks, order, 5, "places that are none");
  checks.that(order[0] == 0 && order[1] == 4, "what is no place comes last");
}

void test_direction(Checks& checks) {
  float before = -1;
  for (int step = 0; step < 360; ++step) {
    const double angle = step * 3.14159265358979323846 / 180;
    const float here = direction(2 * std::cos(angle), 2 * std::sin(angle));
    checks.that(here > before && here < 4.0F, "grows around the circle");
    before = here;
  }
  checks.equal(direction(0, 0), 0.0F, "of nowhere");
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  shakedown::Checks checks;
  shakedown::radio::test_square(checks);
  shakedown::radio::test_blocks(checks);
  shakedown::radio::test_pairs(checks);
  shakedown::radio::test_odd(checks);
  shakedown::radio::test_direction(checks);
  return checks.end();
}
