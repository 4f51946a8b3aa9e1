// The events that a program prints: see native/README.md for the contract.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "clock.hpp"
#include "json.hpp"

#ifndef SHAKEDOWN_VERSION  // CMake defines these for every program
#define SHAKEDOWN_VERSION "unknown"
#define SHAKEDOWN_COMMIT "unknown"
#define SHAKEDOWN_COMPILER "unknown"
#define SHAKEDOWN_FLAGS "unknown"
#endif

namespace shakedown {

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

  void start(std::string_view program, int argc, char** argv, const Object& facts) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const std::vector<std::string> words(argv, argv + argc);
    program_ = program;
    Object build;
    build.add("version", SHAKEDOWN_VERSION).add("commit", SHAKEDOWN_COMMIT);
    build.add("compiler", SHAKEDOWN_COMPILER).add("flags", SHAKEDOWN_FLAGS);
    Object event = of("start");
    event.add("program", program).add("schema", 1).add("unix_ns", unix_ns()).add("monotonic_ns", monotonic_ns());
    event.add("host", host).add("pid", getpid()).add("argv", words).add("build", build).add("facts", facts);
    write(event);
  }

  /// Facts that were found after the start.
  void facts(const Object& more) {
    Object event = of("facts");
    event.add("facts", more);
    write(event);
  }

  void phase(std::string_view name, std::string_view edge, std::string_view label = "") {
    Object event = of("phase");
    event.add("name", name).add("edge", edge).add("unix_ns", unix_ns()).add("label", label);
    write(event);
  }

  void progress(double done, std::string_view text) {
    const double now = now_s();
    if (now - last_progress_s_ < 0.5) return;
    last_progress_s_ = now;
    Object event = of("progress");
    event.add("done", done).add("text", text);
    write(event);
  }

  void series(const Case& series, const Residual* residual) {
    Object event = of("case");
    event.add("kernel", series.kernel).add("params", series.params).add("work", series.work);
    event.add("seconds", series.seconds);
    if (residual != nullptr) {
      Object check;
      check.add("value", residual->value).add("limit", residual->limit).add("kind", residual->kind);
      event.add("residual", check);
      ++checks_;
      if (!residual->passed()) tell_failed(series, *residual);
    }
    const bool each = !series.spans.empty();
    const TimeSpan whole = each ? TimeSpan{series.spans.front().begin_ns, series.spans.back().end_ns}
                                : TimeSpan{series.begin_ns, series.end_ns};
    if (whole.end_ns != 0) event.add("begin_ns", whole.begin_ns).add("end_ns", whole.end_ns);
    if (each) event.add("spans", series.spans);
    write(event);
  }

  void notice(std::string_view code, std::string_view text, std::string_view advice = "") {
    Object event = of("notice");
    event.add("code", code).add("text", text).add("advice", advice);
    write(event);
  }

  /// What to do about a check that failed, in place of the usual advice.
  void advise(std::string_view advice) { advice_ = advice; }

  /// The last event, and where a check failed the line for a person that says which.
  void end() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    Object event = of("end");
    event.add("ok", ok()).add("unix_ns", unix_ns()).add("max_rss_bytes", std::int64_t{usage.ru_maxrss} * 1024);
    write(event);
    if (ok() || out_ == nullptr) return;
    std::fprintf(stderr, "%s: %lld of %lld checks failed; the first: %s\n  next: %s\n", program_.c_str(),
                 static_cast<long long>(failed_), static_cast<long long>(checks_), first_.c_str(), advice_.c_str());
  }

  /// Whether every residual so far passed.
  [[nodiscard]] bool ok() const { return failed_ == 0; }

 private:
  void tell_failed(const Case& series, const Residual& residual) {
    if (++failed_ > 1) return;
    const std::string found = std::isnan(residual.value) ? "NaN" : to_json(residual.value);
    first_ = series.kernel + ' ' + to_json(series.params) + ": " + residual.kind + ": " + found + ", and at most " +
             to_json(residual.limit) + " is right";
  }
  static Object of(std::string_view name) {
    Object event;
    event.add("event", name);
    return event;
  }
  void write(const Object& event) {
    if (out_ == nullptr) return;
    const std::string line = to_json(event) + '\n';
    std::fwrite(line.data(), 1, line.size(), out_);
    std::fflush(out_);
  }
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
  PhaseMark(Emitter& emitter, std::string name, std::string label = "")
      : emitter_(emitter), name_(std::move(name)), label_(std::move(label)) {
    emitter_.phase(name_, "begin", label_);
  }
  ~PhaseMark() { emitter_.phase(name_, "end", label_); }
  PhaseMark(const PhaseMark&) = delete;
  PhaseMark& operator=(const PhaseMark&) = delete;

 private:
  Emitter& emitter_;
  std::string name_;
  std::string label_;
};

}  // namespace shakedown
