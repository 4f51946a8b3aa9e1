// Heat conduction in a plate with cold edges, in C++: saved every few steps, and continued where it was killed.
//
//   heat FOLDER ROWS COLUMNS STEPS EVERY     prints where it begins, each checkpoint, and the heat that is left
#include <cstdio>
#include <cstdlib>
#include <shakedown/checkpoint.hpp>
#include <vector>

namespace ckpt = shakedown::ckpt;

/// One step of explicit differences; the outermost rows and columns stay as they are.
static void advance(const std::vector<double>& u, std::vector<double>& next, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 1; i + 1 < rows; ++i) {
    for (std::size_t j = 1; j + 1 < columns; ++j) {
      const std::size_t at = i * columns + j;
      const double along = (u[at - 1] - 2.0 * u[at]) + u[at + 1];
      const double across = (u[at - columns] - 2.0 * u[at]) + u[at + columns];
      next[at] = u[at] + 0.125 * (along + across);
    }
  }
}

static int run(char** argv) {
  const std::size_t rows = std::strtoul(argv[2], nullptr, 10), columns = std::strtoul(argv[3], nullptr, 10);
  const std::int64_t steps = std::atoll(argv[4]), every = std::atoll(argv[5]);
  if (every < 1) return 2;
  std::vector<double> u(rows * columns);
  for (std::size_t i = 1; i + 1 < rows; ++i) {
    for (std::size_t j = 1; j + 1 < columns; ++j) u[i * columns + j] = static_cast<double>((i * 7 + j * 3) % 11);
  }
  std::int64_t step = 0;

  ckpt::Options options;
  options.local = argv[1];
  ckpt::Session session(options);
  session.protect("step", step);
  session.protect("u", std::span(u), ckpt::Box{{rows, columns}, {rows, columns}, {0, 0}});
  if (const auto restored = session.restore(); !restored && restored.code != SHAKEDOWN_CKPT_NOTHING)
    throw ckpt::Error(restored);
  std::printf("begins at step %lld\n", static_cast<long long>(step));
  while (step < steps) {
    advance(std::vector<double>(u), u, rows, columns);
    if (++step % every != 0) continue;  // a real run asks session.due(), which knows costs and failures
    auto saved = session.checkpoint(SHAKEDOWN_CKPT_LOCAL);
    if (saved) saved = session.wait();  // it is written meanwhile: waited for only to say here whether it was saved
    if (saved)
      std::printf("saved step %lld\n", static_cast<long long>(step));
    else
      std::fprintf(stderr, "heat: goes on without: %s\n", saved.text.c_str());
    std::fflush(stdout);
  }
  if (const auto closed = session.close(); !closed) std::fprintf(stderr, "heat: %s\n", closed.text.c_str());
  double heat = 0.0;
  for (const double value : u) heat += value;
  std::printf("heat %.17g after step %lld\n", heat, static_cast<long long>(step));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: heat FOLDER ROWS COLUMNS STEPS EVERY\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const ckpt::Error& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 3;
  }
}
