// The host backend: memory, events, kernels by name, products and triangular solves against plain sums.
#include <cmath>
#include <vector>

#include "cuda.hpp"
#include "formats.hpp"
#include "host.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::gpu;
using shakedown::Checks;

void add(const Grid& grid, double* to, double what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += what * grid.blocks;
}
const HostKernel kHost[] = {host_kernel<add>("add")};
const Module kModule{{}, kHost};

void device(Checks& checks) {
  const auto devices = host_devices(2);
  checks.equal(devices.size(), 2u, "as many as asked for");
  Device& one = *devices[0];
  const Stream stream(one);
  const Array<double> there(one, 1000);
  std::vector<double> here(1000, 1.5);
  one.copy(there.data(), here.data(), there.bytes(), stream);
  const Kernel<double*, double, std::size_t> kernel(one, kModule, "add");
  const Event begin(one), end(one);
  begin.record(stream);
  kernel({.blocks = 2}, stream, there.data(), 0.25, 1000);
  end.record(stream);
  checks.that(begin.seconds_until(end) > 0, "time passes between events");
  one.copy(here.data(), there.data(), there.bytes(), stream);
  checks.equal(here[999], 2.0, "arguments arrive as they are");
  checks.throws<Failure>([&] { const Kernel<int> none(one, kModule, "subtract"); }, "a kernel that is not there");
  checks.throws<Failure>([&] { const Array<char> huge(one, std::size_t{1} << 60); }, "more memory than there is");
  checks.that(one.reach(*devices[1]), "devices of the host reach each other");
}

double number(std::uint64_t seed, std::size_t i) { return uniform_double(random_bits(seed, i)); }

void products(Checks& checks) {
  const auto devices = host_devices(1);
  Blas& blas = devices[0]->blas();
  const std::size_t m = 5, n = 7, k = 6, ld = 9;
  for (const char ta : {'N', 'T'}) {
    for (const char tb : {'N', 'T'}) {
      std::vector<double> a(ld * 9), b(ld * 9), c(ld * n, 2.0);
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = number(1, i), b[i] = number(2, i);
      blas.gemm({.format = Format::f64,
                 .trans_a = ta,
                 .trans_b = tb,
                 .m = 5,
                 .n = 7,
                 .k = 6,
                 .a = a.data(),
                 .lda = 9,
                 .b = b.data(),
                 .ldb = 9,
                 .c = c.data(),
                 .ldc = 9,
                 .alpha = -1,
                 .beta = 0.5},
                nullptr);
      double worst = 0;
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < m; ++i) {
          double sum = 1;  // beta times what was there
          for (std::size_t l = 0; l < k; ++l)
            sum -= (ta == 'N' ? a[l * ld + i] : a[i * ld + l]) * (tb == 'N' ? b[j * ld + l] : b[l * ld + j]);
          worst = std::max(worst, std::abs(sum - c[j * ld + i]));
        }
      }
      checks.that(worst < 1e-15, std::string("op(A) op(B) with ") + ta + tb);
      checks.equal(c[5], 2.0, "nothing is written below the rows");
    }
  }
  const std::int8_t a[] = {1, 2, -3, 4}, b[] = {5, 6, 7, -8};
  std::int32_t c[4] = {};
  blas.gemm({.format = Format::i8,
             .trans_a = 'T',
             .m = 2,
             .n = 2,
             .k = 2,
             .a = a,
             .lda = 2,
             .b = b,
             .ldb = 2,
             .c = c,
             .ldc = 2},
            nullptr);
  checks.that(c[0] == 17 && c[1] == 9 && c[2] == -9 && c[3] == -53, "whole numbers, A transposed");
}

/// op(A) X = alpha B and X op(A) = alpha B, by putting X back in.
void solves(Checks& checks) {
  const auto devices = host_devices(1);
  const std::size_t m = 6, n = 4;
  for (const char side : {'L', 'R'}) {
    for (const char uplo : {'L', 'U'}) {
      for (const char trans : {'N', 'T'}) {
        for (const char diag : {'N', 'U'}) {
          const std::size_t order = side == 'L' ? m : n;
          std::vector<double> a(order * order), b(m * n), x;
          for (std::size_t i = 0; i < a.size(); ++i) a[i] = number(3, i) + (i % (order + 1) == 0 ? 2 : 0);
          for (std::size_t i = 0; i < b.size(); ++i) b[i] = number(4, i);
          x = b;
          devices[0]->blas().trsm({.side = side,
                                   .uplo = uplo,
                                   .trans = trans,
                                   .diag = diag,
                                   .m = 6,
                                   .n = 4,
                                   .alpha = 3,
                                   .a = a.data(),
                                   .lda = static_cast<std::int64_t>(order),
                                   .b = x.data(),
                                   .ldb = 6},
                                  nullptr);
          const auto entry = [&](std::size_t i, std::size_t j) {
            if (trans == 'T') std::swap(i, j);
            if (i == j) return diag == 'U' ? 1.0 : a[j * order + i];
            return (uplo == 'L') == (i > j) ? a[j * order + i] : 0.0;
          };
          double worst = 0;
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < m; ++i) {
              double sum = 0;
              for (std::size_t l = 0; l < order; ++l)
                sum += side == 'L' ? entry(i, l) * x[j * m + l] : x[l * m + i] * entry(l, j);
              worst = std::max(worst, std::abs(sum - 3 * b[j * m + i]));
            }
          }
          checks.that(worst < 1e-12, std::string("trsm ") + side + uplo + trans + diag);
        }
      }
    }
  }
}

void choices(Checks& checks) {
  const auto count = [](const std::string& backend, const std::string& devices) {
    return open({backend, devices, "libcuda.so.1", "auto"}).size();
  };
  checks.equal(count("host:3", "all"), 3u, "all devices");
  checks.equal(count("host:3", "2,0,2"), 2u, "some, each once");
  checks.equal(open({"host:3", "2,0", "", ""})[0]->info().index, 2, "in the order asked for");
  for (const char* devices : {"3", "-1", "", "1,", "x", "0 1"})
    checks.throws<shakedown::Error>([&] { count("host:3", devices); }, std::string("--devices '") + devices + "'");
  for (const char* backend : {"hip", "host:0", "host:10", "host:", "HOST", ""})
    checks.throws<shakedown::Error>([&] { count(backend, "all"); }, std::string("--backend '") + backend + "'");
}

/// Three machines without a driver differ in what must be done.
void drivers(Checks& checks) {
  const auto says = [&](const Failure& failure, const std::string& what, const std::string& next) {
    const std::string said = failure.what();
    checks.that(failure.state == State::no_driver && said.find(what) < said.find("next:") &&
                    said.find(next) > said.find("next:") && said.find(next) != std::string::npos,
                said);
  };
  says(no_driver("/nope", "no such file", true), "--driver, /nope: no such file", "leave --driver out");
  says(no_driver(kCudaLibrary, "no such file", false), "no CUDA driver here", "--gres=gpu:1");
  says(no_driver(kCudaLibrary, "no such file", true), "kernel module is loaded",
       "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
}

}  // namespace

int main() {
  Checks checks;
  device(checks);
  drivers(checks);
  products(checks);
  solves(checks);
  choices(checks);
  return checks.end();
}
