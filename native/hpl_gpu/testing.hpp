// What the tests of hpl_gpu and hpl_mxp share: ranks that are threads, each with a device of the host; random setups;
// and a whole program on such ranks, or on a driver and a cuBLAS that are fakes.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gpu/host.hpp"
#include "hpl/testing/program.hpp"
#include "hpl/testing/reference.hpp"
#include "hpl/world.hpp"
#include "hpl_gpu.hpp"
#include "testing/driver_states.hpp"
#include "testing/host_module.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::hpl_gpu::testing {

#if defined(__SANITIZE_THREAD__)
// A launch costs much there, and what threads do depends neither on the numbers nor on how many panels there are.
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

using hpl::testing::RanOnRanks;
using hpl::testing::text_of;

// Factorizations.

/// Do `work` on each rank of the configuration's grid, with a device of its own. Messages of up to `eager_bytes` are
/// sent at once (testing/mpi_in_threads/mpi.h).
inline void on_ranks(const hpl::Config& config, std::size_t eager_bytes,
                     const std::function<void(int rank, const Grid& grid, gpu::Device& device)>& work) {
  const int ranks = config.p * config.q;
  ranks_in_threads::start(
      ranks,
      [&](int rank) {
        hpl::World world;
        MPI_Comm_dup(MPI_COMM_WORLD, &world.all);
        world.group = world.all;
        world.rank = world.group_rank = rank;
        world.size = world.group_size = ranks;
        Grid grid = make_grid(world, config);
        work(rank, grid, *gpu::host_devices(1).front());
        free_grid(grid);
      },
      eager_bytes);
}

inline constexpr std::pair<int, int> kGrids[] = {{1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1},
                                                 {2, 3}, {3, 2}, {1, 4}, {4, 1}};

template <class T, std::size_t kCount>
T one_of(hpl::testing::Dice& dice, const T (&values)[kCount]) {
  return values[static_cast<std::size_t>(dice.below(static_cast<Index>(kCount)))];
}

/// What both programs are told, of an order from `least` to `most`.
inline BaseSetup random_setup(hpl::testing::Dice& dice, Index least, Index most) {
  BaseSetup setup;
  auto& c = setup.base;
  c.n = dice.between(least, most);
  c.nb = std::min(c.n, one_of<Index>(dice, {1, 3, 8, 13, 32, 33, 64, 65, 100, 150}));
  if (kSlow) c.nb = std::max<Index>(c.nb, std::min<Index>(c.n, 24));
  if (c.nb < 5) c.n = std::min<Index>(c.n, 30);
  c.broadcast = static_cast<hpl::Broadcast>(dice.below(6));
  c.segment_bytes = one_of<Index>(dice, {8, 100, 1 << 20});
  setup.tail_nb = one_of<Index>(dice, {0, 0, 5, 32, 40});
  setup.tail_share = one_of(dice, {0.25, 0.6, 1.0});
  setup.staged = dice.below(2) == 0;
  return setup;
}
inline std::size_t random_eager_bytes(hpl::testing::Dice& dice) {
  return static_cast<std::size_t>(one_of<Index>(dice, {0, 200, 1 << 20}));
}

/// So many random runs on one rank, and on every grid: `random_run(dice, most)` makes one of an order up to `most`,
/// `right` looks at it.
template <class RandomRun, class Right>
void random_runs(int alone, int on_each_grid, const RandomRun& random_run, const Right& right) {
  hpl::testing::Dice dice(100);
  for (int round = 0; round < alone; ++round) right(random_run(dice, kSanitized ? 120 : 230));
  for (int round = 0; round < on_each_grid; ++round) {
    for (const auto& [p, q] : kGrids) {
      auto run = random_run(dice, kSanitized ? 100 : 150);
      run.setup.base.p = p;
      run.setup.base.q = q;
      run.setup.base.column_major = dice.below(2) == 1;
      right(run);
    }
  }
}

inline std::string words(const BaseSetup& setup, std::size_t eager_bytes) {
  const auto& c = setup.base;
  const auto number = [](auto value) { return std::to_string(value); };
  return "N " + number(c.n) + ", NB " + number(c.nb) + ", " + number(c.p) + " x " + number(c.q) +
         (c.column_major ? " by columns" : "") + ", " + name_of(c.broadcast) + ", segment " + number(c.segment_bytes) +
         ", tail " + number(setup.tail_nb) + " of " + number(setup.tail_share) +
         (setup.staged ? ", staged" : ", direct") + ", eager " + number(eager_bytes);
}

/// NaN all over a store's matrix: what a rehearsal leaves there is never read again.
template <class Store>
void spoil(gpu::Device& device, const Store& store, const Geometry& geometry, const gpu::Stream& stream) {
  auto* const a = store.a(0, 0);
  const auto columns = static_cast<std::size_t>(geometry.part.width);
  device.fill(a, 0xff, static_cast<std::size_t>(store.lda) * columns * sizeof *a, stream);
}

// Whole programs.

struct Program {
  const char* name;
  int (*main)(int, char**);
  std::string system;               // the kernel of its systems' cases,
  std::vector<std::string> beside;  // those that each system has too,
  std::vector<std::string> never;   // and those that it must not have
  const char *driver, *cublas;      // the fakes
};

/// How often a kernel has a case.
inline int cases_of(const Ran& ran, const std::string& kernel) {
  return ran.count(R"("event":"case","kernel":")" + kernel + "\"");
}

inline RanOnRanks run(const Program& program, int ranks, const std::vector<std::string>& words) {
  return hpl::testing::run_on_ranks(program.name, program.main, ranks, words);
}

/// On the host backend: so many systems are solved, and every rank ends with this code.
inline RanOnRanks sweep(Checks& checks, const Program& program, int ranks, std::vector<std::string> words, int cases,
                        int code = 0) {
  words.insert(words.begin(), {"--backend", "host"});
  RanOnRanks ran = run(program, ranks, words);
  const std::string line = hpl::testing::ended(checks, ran, words, code);
  checks.equal(cases_of(ran, program.system), cases, line + ": systems");
  for (const auto& kernel : program.beside)
    checks.equal(cases_of(ran, kernel), cases, std::string(line).append(": each has ").append(kernel));
  for (const auto& kernel : program.never)
    checks.equal(cases_of(ran, kernel), 0, std::string(line).append(": none has ").append(kernel));
  return ran;
}

/// What every program must do, whatever it solves.
inline void sweeps_alike(Checks& checks, const Program& program) {
  const auto on = [&](int ranks, const std::vector<std::string>& words, int cases, int code = 0) {
    sweep(checks, program, ranks, words, cases, code);
  };
  on(4, {"--n", "40", "--nb", "8", "--mapping", "column", "--samples", "2", "--aware", "no"}, 1);
  if (kSlow) return;  // it takes minutes for the rest, in which threads do nothing else
  on(4, {"--n", "40,50", "--nb", "8", "--p", "1,2,4", "--q", "3,2,1", "--no-ceiling"}, 6);
  on(3, {"--n", "40", "--nb", "8", "--p", "1", "--q", "2", "--bcast", "0,1,4"}, 3);  // one is left over
  on(2, {"--n", "40", "--nb", "16", "--tail-nb", "4", "--per-host"}, 1);
  on(2, {"--n", "auto", "--nb", "8", "--time-limit", "0.0000001", "--memory-share", "0.00001"}, 1);
  on(2, {"--n", "40", "--nb", "8", "--threshold", "0"}, 1);
  on(3, {"--n", "2147483647,40", "--nb", "8", "--p", "1", "--q", "2"}, 1, 3);  // the rest is done
  on(2, {"--n", "2147483647", "--nb", "8"}, 0, 3);
  on(2, {"--n", "40", "--nb", "8", "--p", "2", "--q", "2"}, 0, 2);
  on(2, {"--n", "40", "--devices", "7"}, 0, 2);
  on(2, {"--n", "40", "--dat", "/nowhere/HPL.dat"}, 0, 2);
  for (const char* kind : {"entry", "nan", "singular"}) {
    for (const int ranks : {1, 4}) on(ranks, {"--n", "40", "--nb", "8", "--inject", kind}, 1, 1);
  }
}

/// On a driver in this state (words of testing/fake_cuda.cpp).
inline RanOnRanks run_on_fakes(const Program& program, const std::string& state, std::vector<std::string> words,
                               int ranks = 1) {
  setenv("FAKE_CUDA", state.c_str(), 1);
  words.insert(words.begin(), {"--driver", program.driver, "--cublas", program.cublas, "--nvml", "/nowhere"});
  RanOnRanks ran = run(program, ranks, words);
  unsetenv("FAKE_CUDA");
  return ran;
}

/// `launches`: after so many the factorization of 60 columns in eights is on its way. To be called while nothing was
/// launched yet.
inline void through_cuda(Checks& checks, const Program& program, int launches) {
  const auto fake = [&](const std::string& state, const std::vector<std::string>& words, int ranks = 1) {
    return run_on_fakes(program, state, words, ranks);
  };
  // The device falls off the bus in the middle of the factorization.
  const auto lost = fake("lost_after " + std::to_string(launches), {"--n", "60", "--nb", "8"});
  checks.equal(lost.code, 3, "lost on the way: " + lost.text);
  checks.equal(lost.count(R"("code":"gpu-lost")"), 1, "it is told: " + lost.text);
  checks.equal(lost.count(R"("event":"case")"), 0, "and there is no figure");
  const auto whole = fake("devices 1", {"--n", "90", "--nb", "40"});
  checks.equal(whole.code, 0, "through the driver: " + whole.text);
  checks.equal(cases_of(whole, program.system), 1, "one system");
  checks.that(whole.says(R"("backend":"cuda")"), "on the backend cuda");
  const auto two = fake("devices 2", {"--n", "60", "--nb", "16", "--p", "1", "--q", "2"}, 2);
  checks.equal(two.codes.front() + two.codes.back(), 0, "two ranks with a device each: " + two.text);
  checks.equal(fake("devices 2", {"--n", "60", "--nb", "16"}, 3).code, 2, "three ranks and two devices");
  const auto shared = fake("devices 1", {"--n", "60", "--nb", "16"}, 2);
  checks.equal(shared.code, 3, "two ranks with the same device: " + shared.text);
  checks.equal(fake("devices 1 room 100000", {"--n", "2000", "--nb", "16"}).code, 3, "no room on the device");
  for (const auto& refusal : gpu::driver_states(launches)) {
    if (refusal.fake.starts_with("lost")) continue;
    checks.equal(fake(refusal.fake, {"--n", "60", "--nb", "16"}).code, 3, refusal.fake);
  }
}

/// An HPL.dat of two systems of 40 columns, much of which has no meaning on a device; `out`: the file for its text.
inline std::string write_dat(const std::string& name, const std::string& out) {
  std::ofstream(name) << "one\ntwo\n"
                      << out
                      << " file\n8 device\n1 #\n40 Ns\n1 #\n8 NBs\n0 PMAP\n1 #\n1 Ps\n1 Qs\n16.0 threshold\n"
                         "3 #\n0 1 2 PFACTs\n2 #\n2 4 NBMINs\n1 #\n2 NDIVs\n1 #\n0 RFACTs\n2 #\n0 3 BCASTs\n2 #\n0 2 "
                         "DEPTHs\n2 SWAP\n64 #\n0 L1\n0 U\n1 #\n8 #\n";
  return name;
}

}  // namespace shakedown::hpl_gpu::testing

/// The kernels that CMake would embed, which the fake driver never looks at (they must not be empty), and those that it
/// runs in their place.
#define SHAKEDOWN_TEST_IMAGE(name)                               \
  extern "C" {                                                   \
  extern const unsigned char shakedown_gpu_image_##name[1];      \
  extern const std::uint64_t shakedown_gpu_image_##name##_bytes; \
  const unsigned char shakedown_gpu_image_##name[1] = {0};       \
  const std::uint64_t shakedown_gpu_image_##name##_bytes = 1;    \
  const shakedown::gpu::Module* shakedown_host_module() {        \
    static const auto module = shakedown::name::module({});      \
    return &module;                                              \
  }                                                              \
  }                                                              \
  static_assert(true)
