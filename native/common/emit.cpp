#include "emit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <utility>

#include "build_info.hpp"

namespace shakedown {

namespace {

/// Of this program alone: ru_maxrss also holds what the process that started it had taken by then.
std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::int64_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void Emitter::start(std::string_view program, int argc, char** argv, const Object& facts) {
  const std::vector<std::string> words(argv, argv + argc);
  program_ = program;
  Object build;
  build.add("version", kBuildVersion).add("commit", kBuildCommit);
  build.add("compiler", kBuildCompiler).add("flags", kBuildFlags);
  Object event = of("start");
  event.add("program", program).add("schema", 1).add("unix_ns", unix_ns()).add("monotonic_ns", monotonic_ns());
  event.add("host", host_name()).add("pid", getpid()).add("argv", words).add("build", build).add("facts", facts);
  write(event);
}

void Emitter::facts(const Object& more) {
  Object event = of("facts");
  event.add("facts", more);
  write(event);
}

void Emitter::phase(std::string_view name, std::string_view edge, std::string_view label) {
  Object event = of("phase");
  event.add("name", name).add("edge", edge).add("unix_ns", unix_ns()).add("label", label);
  write(event);
}

void Emitter::progress(double done, std::string_view text) {
  const double now = now_s();
  if (now - last_progress_s_ < 0.5) return;
  last_progress_s_ = now;
  Object event = of("progress");
  event.add("done", done).add("text", text);
  write(event);
}

void Emitter::series(const Case& series, const Residual* residual) {
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

void Emitter::notice(std::string_view code, std::string_view text, std::string_view advice) {
  Object event = of("notice");
  event.add("code", code).add("text", text).add("advice", advice);
  write(event);
}

void Emitter::end() {
  Object event = of("end");
  event.add("ok", ok()).add("unix_ns", unix_ns()).add("max_rss_bytes", peak_bytes());
  write(event);
  if (ok() || out_ == nullptr) return;
  std::fprintf(stderr, "%s: %lld of %lld checks failed; the first: %s\n  next: %s\n", program_.c_str(),
               static_cast<long long>(failed_), static_cast<long long>(checks_), first_.c_str(), advice_.c_str());
}

void Emitter::tell_failed(const Case& series, const Residual& residual) {
  if (++failed_ > 1) return;
  const std::string found = std::isnan(residual.value) ? "NaN" : to_json(residual.value);
  first_ = series.kernel + ' ' + to_json(series.params) + ": " + residual.kind + ": " + found + ", and at most " +
           to_json(residual.limit) + " is right";
}

Object Emitter::of(std::string_view name) {
  Object event;
  event.add("event", name);
  return event;
}

void Emitter::write(const Object& event) {
  if (out_ == nullptr) return;
  const std::string line = to_json(event) + '\n';
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

PhaseMark::PhaseMark(Emitter& emitter, std::string name, std::string label)
    : emitter_(emitter), name_(std::move(name)), label_(std::move(label)) {
  emitter_.phase(name_, "begin", label_);
}

PhaseMark::~PhaseMark() { emitter_.phase(name_, "end", label_); }

}  // namespace shakedown
