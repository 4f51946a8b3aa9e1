// What a native test needs: say what must be true, count what is not.
#pragma once

#include <cstdio>
#include <sstream>
#include <string>

namespace shakedown {

/// Where an expectation stands: what std::source_location is, for compilers whose library lacks it.
struct Place {
  const char* file;
  int line;
  static constexpr Place current(const char* in = __builtin_FILE(), int at = __builtin_LINE()) { return {in, at}; }
};

/// One test program: each expectation that fails is printed with its place; `return checks.end();` ends main.
class Checks {
 public:
  void that(bool holds, const std::string& what, const Place& at = Place::current()) {
    ++done_;
    if (holds) return;
    ++failed_;
    std::fprintf(stderr, "%s:%d: not true: %s\n", at.file, at.line, what.c_str());
  }

  template <class A, class B>
  void equal(const A& found, const B& expected, const std::string& what, const Place& at = Place::current()) {
    std::ostringstream text;
    text.precision(17);
    text << what << ": found " << found << ", expected " << expected;
    that(found == expected, text.str(), at);
  }

  template <class Error, class Function>
  void throws(Function&& call, const std::string& what, const Place& at = Place::current()) {
    try {
      call();
    } catch (const Error&) {
      that(true, what, at);
      return;
    }
    that(false, what + ": nothing was thrown", at);
  }

  [[nodiscard]] int end() const {
    std::fprintf(stderr, "%d of %d expectations hold\n", done_ - failed_, done_);
    return failed_ == 0 && done_ > 0 ? 0 : 1;
  }

 private:
  int done_ = 0;
  int failed_ = 0;
};

}  // namespace shakedown
