// One-sided operations of MPI: parse -> join -> for every kind of window, operation and size: measure, verify, emit.
#include <algorithm>
#include <memory>
#include <optional>

#include "common/silence.hpp"
#include "onesided.hpp"

namespace shakedown::onesided {
namespace {

std::vector<Shape> plan(const Options& options) {
  std::vector<Shape> shapes;
  const auto add = [&](const Shape& shape) {
    shapes.push_back(shape);
    if (!options.computing) return;
    shapes.push_back(shape);
    shapes.back().mode = Mode::computing;
  };
  const auto add_rate = [&](Shape shape) {
    shape.mode = Mode::rate;
    shape.slots = options.in_flight;
    shapes.push_back(shape);
  };
  for (const Operation operation : options.operations) {
    if (is_atomic(operation)) {
      for (const std::size_t bytes : options.atomic_bytes) {
        const Shape shape{operation, Element::word, Mode::latency, bytes, 1};
        add(shape);
        add_rate(shape);
      }
      continue;
    }
    for (const std::size_t bytes : options.sizes) {
      const Shape shape{operation, Element::byte, Mode::latency, bytes, 1};
      add(shape);
      if (!is_sum(operation)) add_rate(shape);
      if (!is_sum(operation) || bytes % sizeof(Word) != 0) continue;
      Shape words = shape;
      words.element = Element::word;
      shapes.push_back(words);
      add_rate(words);
    }
  }
  return shapes;
}

Object params_of(const Ranks& ranks, const Options& options, WindowKind kind, const Shape& shape) {
  Object params;
  params.add("bytes", shape.bytes).add("window", mpi_name_of(kind)).add("synchronization", "Win_flush");
  params.add("ranks", ranks.size).add("nodes", ranks.hosts_of(ranks.size)).add("mpi", mpi_name());
  params.add("link", ranks.hosts_of(ranks.size) > 1 ? "network" : "shared memory");
  if (shape.mode == Mode::rate) params.add("in_flight", options.in_flight);
  if (ranks.oversubscribed) params.add("oversubscribed", true);
  return params;
}

Object work_of(const Shape& shape, const Series& series) {
  const std::int64_t operations = series.iterations * shape.slots;
  Object work;
  work.add("messages", operations).add("bytes", operations * static_cast<std::int64_t>(shape.bytes));
  if (shape.mode == Mode::rate && is_atomic(shape.operation)) work.add("op", operations);
  if (shape.mode == Mode::computing) work.add("computed_s", series.computed_s);
  return work;
}

std::string words_of(WindowKind kind, const Shape& shape) {
  return kernel_of(shape) + " of " + std::to_string(shape.bytes) + " bytes, MPI_" + mpi_name_of(kind);
}

void await_case(const Ranks& ranks, const Options& options, WindowKind kind, const Shape& shape) {
  const std::string what = words_of(kind, shape);
  watch_case(ranks, options.silent_s > 0 ? options.silent_s + options.budget_s : 0,
             {"onesided", kernel_of(shape), params_of(ranks, options, kind, shape), what,
              "look at rank 1 on " + ranks.host_of(kTarget) + ", or leave that window or operation out",
              "is not in MPI: " + what + " waits for it"});
}

/// What a series says besides its figures.
void tell(Emitter& emitter, const Ranks& ranks, WindowKind kind, const Shape& shape, const Series& series) {
  if (series.wrong_rank >= 0) {
    emitter.notice("wrong-element",
                   words_of(kind, shape) + ": in the memory of rank " + std::to_string(series.wrong_rank) + " on " +
                       ranks.host_of(series.wrong_rank) + " element " + std::to_string(series.wrong_element) +
                       " is wrong, the first of " + std::to_string(series.wrong),
                   "look at that rank's memory and network; run it again with another MPI");
  }
  // The least: one that was held up by another program says nothing of the MPI.
  if (shape.mode != Mode::computing || series.seconds.empty() || ranks.oversubscribed) return;
  if (*std::min_element(series.seconds.begin(), series.seconds.end()) < series.computed_s / 2) return;
  emitter.notice(
      "target-must-call-mpi", words_of(kind, shape) + ": it waits until its target, which computes, calls MPI again",
      "such an MPI hides no one-sided operation behind a computation: let it progress by a thread, or choose "
      "another kind of window");
}

void emit(Emitter& emitter, const Ranks& ranks, const Options& options, WindowKind kind, const Shape& shape,
          const Series& series) {
  Case one;
  one.kernel = kernel_of(shape);
  one.params = params_of(ranks, options, kind, shape);
  one.work = work_of(shape, series);
  one.seconds = series.seconds;
  one.begin_ns = series.begin_ns;
  one.end_ns = series.end_ns;
  const Residual residual{static_cast<double>(series.wrong), 0, "wrong elements"};
  emitter.series(one, options.verify ? &residual : nullptr);
  tell(emitter, ranks, kind, shape, series);
}

/// All cases of a kind of window. Throws on both ranks alike where there is no such window.
void measure_kind(Emitter& emitter, const Ranks& ranks, const Options& options, WindowKind kind, const Buffers& buffers,
                  std::size_t window_bytes) {
  const Window window(ranks, kind, window_bytes, options.pages);
  for (const Shape& shape : plan(options)) {
    await_case(ranks, options, kind, shape);
    if (ranks.rank == kOrigin) {
      emit(emitter, ranks, options, kind, shape, lead(ranks, options, window, buffers, shape));
    } else {
      follow(ranks, options, window, buffers, shape);
    }
    unwatch();
  }
}

/// Throws, on both ranks alike and before either writes anything, where what they need does not fit.
void require_room(const Ranks& ranks, std::uint64_t at_origin, std::uint64_t at_target) {
  const bool one_host = ranks.hosts_of(ranks.size) == 1;
  const std::uint64_t mine = ranks.rank == kOrigin ? at_origin : at_target;
  together(ranks.control, [&] {
    require_memory(one_host ? at_origin + at_target : mine, "the buffers and windows of this host's ranks");
  });
}

void measure_all(Emitter& emitter, const Ranks& ranks, const Options& options) {
  std::size_t window_bytes = 0;
  std::size_t origin_bytes = 0;
  std::size_t once_bytes = sizeof(Word);
  for (const Shape& shape : plan(options)) {
    window_bytes = std::max(window_bytes, shape.window_bytes());
    origin_bytes = std::max(origin_bytes, shape.origin_bytes());
    if (shape.mode != Mode::rate) once_bytes = std::max(once_bytes, shape.bytes);
  }
  require_room(ranks, 3 * origin_bytes, 3 * once_bytes + 2 * window_bytes);
  Buffers buffers;
  together(ranks.control, [&] { buffers = Buffers(ranks.rank == kOrigin ? origin_bytes : once_bytes, options.pages); });
  std::size_t made = 0;
  std::optional<Error> refused;
  for (const WindowKind kind : options.windows) {
    try {
      measure_kind(emitter, ranks, options, kind, buffers, window_bytes);
    } catch (const Error& error) {
      const std::string text = error.what();
      emitter.notice("window-left-out",
                     std::string("MPI_") + mpi_name_of(kind) + ": " + text.substr(0, text.find('\n')),
                     "name the kinds of windows that this MPI has with --windows");
      refused.emplace(error);
      continue;
    }
    emitter.progress(static_cast<double>(++made) / static_cast<double>(options.windows.size()), mpi_name_of(kind));
  }
  if (made == 0 && refused) throw *refused;
}

int run(int argc, char** argv, const Options& options) {
  const Ranks ranks = join_ranks(options.ranks);
  if (ranks.size != 2) {
    throw usage("onesided was started with " + std::to_string(ranks.size) + " ranks and measures between two",
                "start it with 2: mpirun -np 2 onesided");
  }
  Emitter emitter(ranks.rank == kOrigin ? stdout : nullptr);
  emitter.start("onesided", argc, argv, ranks.facts());
  if (ranks.oversubscribed) {
    emitter.notice("oversubscribed", "ranks share CPUs: the times are those of the scheduler and mean nothing",
                   "start at most one rank for each CPU");
  }
  emitter.phase("measure", "begin");
  measure_all(emitter, ranks, options);
  emitter.phase("measure", "end");
  emitter.end();
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, kOrigin, ranks.control);
  return code;
}

}  // namespace
}  // namespace shakedown::onesided

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("onesided", argc, argv, onesided::read_options, onesided::run);
}
