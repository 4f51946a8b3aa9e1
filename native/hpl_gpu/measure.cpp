#include "measure.hpp"

#include <cstdio>

#include "common/clock.hpp"
#include "hpl/runs.hpp"

namespace shakedown::hpl_gpu {

double reduced(double value, MPI_Op op, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm);
  return value;
}

void add_shares(hpl::Shares& sum, const hpl::Shares& mine, MPI_Comm comm) {
  for (const auto& account : hpl::kAccounts) sum.*account.seconds += reduced(mine.*account.seconds, MPI_SUM, comm);
}

bool again(const hpl::Options& options, std::size_t repeats, double seconds, MPI_Comm comm) {
  int more = static_cast<std::int64_t>(repeats) < options.samples || seconds < options.seconds;
  MPI_Bcast(&more, 1, MPI_INT, 0, comm);
  return more != 0;
}

Progress progress_of(Emitter& emitter, Index n, const char* rest) {
  return [&emitter, n, order = static_cast<double>(n), rest, begin = now_s()](Index columns) {
    const double left = order - static_cast<double>(columns);
    const double done = 1 - left * left * left / (order * order * order);
    if (!(done > 0)) return;
    const double passed = now_s() - begin;
    char text[160];
    std::snprintf(text, sizeof text, "N %.0f, column %lld: %.2f Tflop/s so far, %.0f s left%s", order,
                  static_cast<long long>(columns), done * hpl::flop_count(n) / passed / 1e12,
                  passed * (1 - done) / done, rest);
    emitter.progress(done, text);
  };
}

Ceiling time_products(double flop, gpu::Device& device, const gpu::Stream& stream, MPI_Comm comm,
                      const std::function<void()>& product) {
  constexpr int kWarm = 1, kSamples = 3;
  Ceiling ceiling;
  ceiling.flop = flop;
  const gpu::Event begin(device), end(device);
  for (int sample = 0; sample < kWarm + kSamples; ++sample) {
    stream.wait();
    MPI_Barrier(comm);
    const std::int64_t begin_ns = unix_ns();
    begin.record(stream);
    product();
    end.record(stream);
    const double seconds = reduced(begin.seconds_until(end), MPI_MAX, comm);
    if (sample < kWarm) continue;
    ceiling.seconds.push_back(seconds);
    ceiling.spans.push_back({begin_ns, unix_ns()});
  }
  return ceiling;
}

}  // namespace shakedown::hpl_gpu
