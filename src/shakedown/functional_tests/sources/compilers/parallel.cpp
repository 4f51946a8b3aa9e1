// The parallel algorithms of C++17: the same results as the sequential ones.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <execution>
#include <numeric>
#include <vector>

int main() {
  std::vector<std::int64_t> values(1 << 18);
  std::iota(values.begin(), values.end(), 1);
  const auto sum = std::reduce(std::execution::par, values.begin(), values.end(), std::int64_t{0});
  std::for_each(std::execution::par, values.begin(), values.end(), [](std::int64_t& x) { x = x * 40503 % 65537; });
  std::sort(std::execution::par, values.begin(), values.end());
  const bool sorted = std::is_sorted(values.begin(), values.end());
  const auto after = std::transform_reduce(std::execution::par, values.begin(), values.end(), std::int64_t{0},
                                           std::plus<>(), [](std::int64_t x) { return x * 2; });
  std::printf("par_sum %lld\n", static_cast<long long>(sum));
  std::printf("par_sorted %d\n", sorted ? 1 : 0);
  std::printf("par_after %lld\n", static_cast<long long>(after));
  return 0;
}
