// What C++ adds to the arithmetic of C: exceptions through frames and threads, threads, dispatch, templates,
// containers.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#define main numerics_of_c
#include "numerics.c"
#undef main

namespace {

int alive = 0;

struct Guard {
  Guard() { ++alive; }
  ~Guard() { --alive; }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

struct Special : std::runtime_error {
  explicit Special(int n) : std::runtime_error("special"), number(n) {}
  int number;
};

int deep(int depth) {
  Guard guard;
  if (depth == 0) throw Special(17);
  return deep(depth - 1) + 1;
}

void exceptions() {
  int caught = 0;
  try {
    deep(50);
  } catch (const std::exception& error) {
    const auto* special = dynamic_cast<const Special*>(&error);
    caught = special != nullptr ? special->number : -1;
  }
  std::printf("thrown %d\n", caught * 100 + alive);

  std::exception_ptr carried;
  std::thread thread([&] {
    try {
      deep(5);
    } catch (...) {
      carried = std::current_exception();
    }
  });
  thread.join();
  try {
    if (carried) std::rethrow_exception(carried);
    caught = 0;
  } catch (const Special& special) {
    caught = special.number;
  }
  std::printf("carried %d\n", caught);
}

void threads() {
  std::atomic<std::int64_t> sum{0};
  std::mutex mutex;
  std::condition_variable condition;
  std::int64_t locked = 0;
  bool go = false;
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t) {
    team.emplace_back([&, t] {
      {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [&] { return go; });
      }
      for (int i = t; i < 40000; i += 4) {
        sum += i;
        const std::lock_guard<std::mutex> lock(mutex);
        locked += 1;
      }
    });
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    go = true;
  }
  condition.notify_all();
  for (auto& one : team) one.join();
  std::printf("threads %lld\n", static_cast<long long>(sum));
  std::printf("locked %lld\n", static_cast<long long>(locked));
}

struct Shape {
  virtual ~Shape() = default;
  [[nodiscard]] virtual int corners() const = 0;
};
struct Square : Shape {
  [[nodiscard]] int corners() const override { return 4; }
};
struct Triangle : Shape {
  [[nodiscard]] int corners() const override { return 3; }
};

constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
static_assert(gcd(1071, 462) == 21, "constant expressions");

template <class... Words>
std::string joined(const Words&... words) {
  std::ostringstream out;
  (out << ... << words);
  return out.str();
}

void cxx_language() {
  std::vector<std::unique_ptr<Shape>> shapes;
  shapes.push_back(std::make_unique<Square>());
  shapes.push_back(std::make_unique<Triangle>());
  int corners = 0;
  for (const auto& shape : shapes) corners = corners * 10 + shape->corners();
  std::printf("dispatch %d\n", corners * (typeid(*shapes[0]) == typeid(Square) ? 1 : 0));

  std::unordered_map<std::string, int> counts;
  for (const char* word : {"b", "a", "b", "c", "b"}) ++counts[word];
  std::map<int, std::string, std::greater<>> by_count;
  for (const auto& [word, count] : counts) by_count[count] += word;
  std::printf("containers %s\n", joined(by_count.begin()->second, by_count.begin()->first).c_str());

  std::vector<int> numbers(1000);
  for (int i = 0; i < 1000; ++i) numbers[static_cast<std::size_t>(i)] = i * 7919 % 1000;
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
  std::printf("sorted %d\n", numbers.front() * 1000 + numbers.back());
}

}  // namespace

int main() {
  numerics_of_c();
  exceptions();
  threads();
  cxx_language();
  return 0;
}
