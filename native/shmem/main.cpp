// OpenSHMEM: parse -> join -> for every operation and size: measure, verify, emit.
#include <shmem.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>

#include "common/watch.hpp"
#include "shmem.hpp"

namespace shakedown::shmem {
namespace {

/// Words of a row that atomic operations go over, each on its own: OSU's loop.
constexpr int kAtomicWords = 500;

std::vector<Shape> plan(const Options& options) {
  std::vector<Shape> shapes;
  for (const Operation operation : options.operations) {
    if (is_atomic(operation)) {
      for (const auto bytes : options.atomic_bytes) {
        shapes.push_back({operation, Mode::pipelined, bytes, kAtomicWords});
        if (!fetches(operation)) shapes.push_back({operation, Mode::completed, bytes, kAtomicWords});
      }
      continue;
    }
    for (const auto bytes : options.sizes) {
      if (operation == Operation::barrier && bytes != options.sizes.front()) continue;
      shapes.push_back({operation, Mode::completed, operation == Operation::barrier ? 0 : bytes, 1});
      if (is_of_all(operation)) continue;
      if (operation == Operation::put) {
        shapes.push_back({operation, Mode::fenced, bytes, 1});
        shapes.push_back({operation, Mode::pipelined, bytes, options.in_flight});
      }
      shapes.push_back({operation, Mode::nonblocking, bytes, options.in_flight});
    }
  }
  return shapes;
}

Object params_of(const Job& job, const Shape& shape) {
  Object params;
  if (shape.operation != Operation::barrier) params.add("bytes", shape.bytes);
  if (const auto name = osu_name_of(shape); !name.empty()) params.add("case", name);
  params.add("ranks", job.pes).add("nodes", job.nodes()).add("library", job.library);
  params.add("link", job.nodes() > 1 ? "network" : "shared memory");
  if (!is_atomic(shape.operation) && shape.slots > 1) params.add("in_flight", shape.slots);
  if (job.oversubscribed) params.add("oversubscribed", true);
  return params;
}

std::string words_of(const Shape& shape) {
  std::string text = is_atomic(shape.operation) ? osu_name_of(shape) : kernel_of(shape);
  if (shape.operation != Operation::barrier) text += " of " + std::to_string(shape.bytes) + " bytes";
  return text;
}

void emit(Emitter& emitter, const Job& job, const Options& options, const Shape& shape, const Series& series) {
  Case one;
  one.kernel = kernel_of(shape);
  one.params = params_of(job, shape);
  if (is_of_all(shape.operation)) {
    one.work.add("bytes", shape.bytes).add("late", series.late);
  } else {
    one.work.add("messages", series.operations);
    one.work.add("bytes", series.operations * static_cast<std::int64_t>(shape.bytes));
    if (is_atomic(shape.operation)) one.work.add("op", series.operations);
  }
  one.seconds = series.seconds;
  one.begin_ns = series.begin_ns;
  one.end_ns = series.end_ns;
  const Residual residual{
      static_cast<double>(series.wrong), 0,
      shape.operation == Operation::barrier ? "repetitions that a PE left before all had entered" : "wrong elements"};
  emitter.series(one, options.verify ? &residual : nullptr);
  if (series.seconds.empty() && series.late > 0) {
    emitter.notice("late-left-out", words_of(shape) + ": no repetition that all PEs began in time",
                   "other programs hold the PEs up: measure on a quiet machine");
  }
  if (series.wrong_pe >= 0) {
    emitter.notice("wrong-element",
                   words_of(shape) + ": in the memory of PE " + std::to_string(series.wrong_pe) + " on " +
                       job.hosts[static_cast<std::size_t>(series.wrong_pe)] + " element " +
                       std::to_string(series.wrong_element) + " is wrong, the first of " + std::to_string(series.wrong),
                   "look at that PE's memory and network; run it again with another OpenSHMEM");
  }
}

/// Why a case cannot be; the same on every PE. Empty where it can.
std::string cannot_be(const Job& job, const Shape& shape) {
  if (!is_of_all(shape.operation)) return "";
  if (job.nodes() > 1) {
    return "PEs of several hosts share no clock that an operation of all could be timed by: MPI's is measured by "
           "shakedown run collectives";
  }
  const bool counts_int = shape.operation == Operation::sum;
  if (counts_int && shape.bytes / sizeof(Word) > std::numeric_limits<int>::max()) {
    return "its vector has more words than a call counts (2^31 - 1)";
  }
  return "";
}

/// The memory of all pairs' cases: the largest serves the others.
struct PairHeap {
  PairHeap(std::size_t bytes, const Options& options)
      : window(bytes, "the target's memory"),
        out(bytes, "what is sent"),
        in(bytes, "what is fetched"),
        olds(2 * static_cast<std::size_t>(options.contended) * sizeof(Word), "old values"),
        control(4 * sizeof(Word), "what PEs exchange") {}
  [[nodiscard]] PairMemory memory() const {
    return {window.as(), out.as(), in.as(), olds.as<Word>(), control.as<Word>()};
  }
  Symmetric window, out, in, olds, control;
};

void measure_all(Emitter& emitter, const Job& job, const Options& options) {
  const auto shapes = plan(options);
  std::size_t most = 0;
  for (const Shape& shape : shapes) most = std::max(most, is_of_all(shape.operation) ? 0 : shape.window_bytes());
  const auto heap = most > 0 ? std::make_unique<PairHeap>(most, options) : nullptr;
  int made = 0;
  for (const Shape& shape : shapes) {
    if (const auto why = cannot_be(job, shape); !why.empty()) {
      emitter.notice("left-out", words_of(shape) + ": " + why, "leave it out of --operations, or name smaller sizes");
      continue;
    }
    watch_case(job, options, kernel_of(shape), params_of(job, shape), words_of(shape));
    emit(emitter, job, options, shape,
         is_of_all(shape.operation) ? measure_all_pes(job, options, shape)
                                    : measure_pair(job, options, shape, heap->memory()));
    unwatch();
    emitter.progress(static_cast<double>(++made) / static_cast<double>(shapes.size()), words_of(shape));
  }
  if (made == 0) throw cannot("none of the operations can be measured here", "the notices before this say why");
}

int run(int argc, char** argv, const Options& options) {
  const Job job = join(options);
  Emitter emitter(job.pe == 0 ? stdout : nullptr);
  emitter.start("shmem", argc, argv, job.facts());
  if (job.oversubscribed) {
    emitter.notice("oversubscribed", "PEs share CPUs: the times are those of the scheduler and mean nothing",
                   "start at most one PE for each CPU");
  }
  emitter.phase("measure", "begin");
  measure_all(emitter, job, options);
  emitter.phase("measure", "end");
  emitter.end();
  const Symmetric memory(sizeof(Word), "the exit code");
  const Word code = emitter.ok() ? kOk : kCheckFailed;
  for (int pe = 0; job.pe == 0 && pe < job.pes; ++pe) shmem_putmem(memory.as<Word>().data(), &code, sizeof code, pe);
  meet();
  return static_cast<int>(memory.as<Word>().front());
}

/// Before shmem_init, what a library must be told. The user's own variables stay.
void prepare() {
  // Open MPI 4.1.4 ends in a segmentation fault in shmem_finalize where it gives its own memory hooks to UCX (1.13).
  setenv("OMPI_MCA_opal_common_ucx_opal_mem_hooks", "0", 0);
  setenv("HWLOC_COMPONENTS", "-opencl,-gl", 0);
}

}  // namespace
}  // namespace shakedown::shmem

int main(int argc, char** argv) {
  using namespace shakedown;
  std::optional<Error> refused;
  shmem::Options options;
  try {
    options = shmem::read_options(argc, argv);
    shmem::ask_for_heap(options);
  } catch (const Error& error) {
    refused = error;
  }
  shmem::prepare();
  shmem_init();
  int code = kOk;
  try {
    if (refused) throw *refused;
    code = shmem::run(argc, argv, options);
  } catch (const Error& error) {
    code = error.code;
    if (shmem_my_pe() == 0) std::fprintf(stderr, "shmem: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shmem: PE %d: %s\n", shmem_my_pe(), error.what());
    shmem_global_exit(kCouldNotMeasure);
  }
  shmem_finalize();
  return code;
}
