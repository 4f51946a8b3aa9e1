// What a native test needs: say what must be true, count what is not.
#pragma once

#include <cstdio>
#include <source_location>
#include <sstream>
#include <string>

namespace shakedown {

/// One test program: each expectation that fails is printed with its place; `return checks.end();` ends main.
class Checks {
 public:
  void that(bool holds, const std::string& what, const std::source_location& at = std::source_location::current()) {
    ++done_;
    if (holds) return;
    ++failed_;
    std::fprintf(stderr, "%s:%u: not true: %s\n", at.file_name(), static_cast<unsigned>(at.line()), what.c_str());
  }

  template <class A, class B>
  void equal(const A& found, const B& expected, const std::string& what,
             const std::source_location& at = std::source_location::current()) {
    std::ostringstream text;
    text.precision(17);
    text << what << ": found " << found << ", expected " << expected;
    that(found == expected, text.str(), at);
  }

  template <class Error, class Function>
  void throws(Function&& call, const std::string& what,
              const std::source_location& at = std::source_location::current()) {
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
