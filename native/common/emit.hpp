// The events that a program prints: see native/README.md for the contract.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "clock.hpp"
#include "json.hpp"

namespace shakedown {

/// This host, as its kernel calls it; empty where that fails.
std::string host_name();

struct Residual {
  double value;
  double limit;
  std::string kind;
  [[nodiscard]] bool passed() const { return value <= limit; }  // false for NaN
};

/// From when to when, in Unix time, on the clock that meters of the same host share.
struct TimeSpan {
  std::int64_t begin_ns = 0, end_ns = 0;
};
inline std::string to_json(const TimeSpan& span) {
  return '[' + to_json(span.begin_ns) + ',' + to_json(span.end_ns) + ']';
}
/// A time that now_s() gave, in Unix time.
inline std::int64_t unix_ns_of(double seconds) {
  return unix_ns() - monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

struct Case {
  std::string kernel;
  Object params;
  Object work;
  std::vector<double> seconds = {};  // of each sample
  std::int64_t begin_ns = 0;  // of the first sample; 0 for both: a part of another case, whose energy is not its own
  std::int64_t end_ns = 0;    // of the last
  std::vector<TimeSpan> spans = {};  // of each sample, where other work lies between them: what is above follows
};

/// Writes events, each in one flushed line. Use from one thread (of rank 0).
class Emitter {
 public:
  /// To standard output, or to another stream; null: nowhere.
  explicit Emitter(std::FILE* out = stdout) : out_(out) {}

  void start(std::string_view program, int argc, char** argv, const Object& facts);

  /// Facts that were found after the start.
  void facts(const Object& more);

  void phase(std::string_view name, std::string_view edge, std::string_view label = "");

  void progress(double done, std::string_view text);

  void series(const Case& series, const Residual* residual);

  void notice(std::string_view code, std::string_view text, std::string_view advice = "");

  /// What to do about a check that failed, in place of the usual advice.
  void advise(std::string_view advice) { advice_ = advice; }

  /// The last event, and where a check failed the line for a person that says which.
  void end();

  /// Whether every residual so far passed.
  [[nodiscard]] bool ok() const { return failed_ == 0; }

 private:
  void tell_failed(const Case& series, const Residual& residual);
  static Object of(std::string_view name);
  void write(const Object& event);
  std::FILE* out_;
  double last_progress_s_ = 0;
  std::int64_t checks_ = 0, failed_ = 0;
  std::string program_, first_;
  std::string advice_ =
      "run it again, here and on another machine: what fails here alone is a fault of this one (see dmesg for errors "
      "of its memory and devices), what fails on all is one of the library or the build";
};

/// Marks a phase from its construction to the end of its scope.
class PhaseMark {
 public:
  PhaseMark(Emitter& emitter, std::string name, std::string label = "");
  ~PhaseMark();
  PhaseMark(const PhaseMark&) = delete;
  PhaseMark& operator=(const PhaseMark&) = delete;

 private:
  Emitter& emitter_;
  std::string name_;
  std::string label_;
};

}  // namespace shakedown
