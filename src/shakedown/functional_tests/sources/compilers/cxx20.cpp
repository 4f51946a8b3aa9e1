// C++20: concepts, ranges, comparison, coroutines, threads that stop, bits, spans.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <compare>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <ranges>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
constexpr T twice(T x) {
  return x + x;
}
template <class T>
constexpr int twice(T) {
  return -1;
}

struct Version {
  int major_part, minor_part;
  auto operator<=>(const Version&) const = default;
};

struct Generator {
  struct promise_type {
    int value = 0;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Generator squares(int n) {
  for (int i = 1; i <= n; ++i) co_yield i* i;
}

consteval int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

}  // namespace

int main() {
  std::printf("concepts %d\n", twice(21) * 10 + twice("text"));
  const Version a{1, 9}, b{1, 10};
  std::printf("compare %d\n", (a < b) * 10 + (a == a));

  auto view = std::views::iota(1, 100) | std::views::filter([](int i) { return i % 3 == 0; }) |
              std::views::transform([](int i) { return i * i; }) | std::views::take(5);
  int sum = 0;
  for (const int x : view) sum += x;
  std::printf("ranges %d\n", sum);

  Generator generator = squares(10);
  int total = 0;
  while (generator.handle.resume(), !generator.handle.done()) total += generator.handle.promise().value;
  generator.handle.destroy();
  std::printf("coroutines %d\n", total);

  std::atomic<int> rounds{0};
  bool stopped = false;
  {
    std::jthread thread([&](const std::stop_token& token) {
      while (!token.stop_requested()) ++rounds;
      stopped = true;
    });
    while (rounds < 10) std::this_thread::yield();
  }
  std::printf("jthread %d\n", stopped ? 1 : 0);

  std::printf("bit_cast %llx\n", static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(1.5)));
  std::printf("popcount %d\n", std::popcount(0xdeadbeefU));
  std::array<int, 6> numbers{1, 2, 3, 4, 5, 6};
  const std::span<const int> middle = std::span(numbers).subspan(2, 3);
  std::printf("span %d\n", std::accumulate(middle.begin(), middle.end(), 0));
  std::printf("consteval %d\n", factorial(10));
  return 0;
}
