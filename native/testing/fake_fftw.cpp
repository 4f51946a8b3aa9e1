// A library with FFTW's interface that computes sums as they are defined or, as FAKE_FFTW says, is wrong in one way:
// "wrong_point" and "nan" damage a point, "unwritten" leaves one, "swapped" takes the signs the other way, "identity"
// transforms nothing, "rough" computes in single precision, "crash" ends the program by a signal, "no_plan" has no
// plan.
#include <cmath>
#include <complex>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

#include "fault.hpp"

namespace {

bool fault(const char* name) { return shakedown::testing::fault_is("FAKE_FFTW", name); }

template <class T>
struct Plan {
  std::vector<int> lengths;
  int sign;
};

/// One dimension after the other, by definition, in the arithmetic of Real.
template <class Real, class T>
void transform(const Plan<T>& plan, const std::complex<T>* in, std::complex<T>* out) {
  std::size_t points = 1;
  for (const int length : plan.lengths) points *= static_cast<std::size_t>(length);
  const auto scale = static_cast<T>(plan.sign < 0 ? 1 : points);
  std::vector<std::complex<Real>> data(points);
  for (std::size_t i = 0; i < points; ++i) data[i] = {static_cast<Real>(in[i].real()), static_cast<Real>(in[i].imag())};
  const int sign = fault("swapped") ? -plan.sign : plan.sign;
  std::size_t inner = 1;
  for (std::size_t d = plan.lengths.size(); d-- > 0;) {
    const auto n = static_cast<std::size_t>(plan.lengths[d]);
    std::vector<std::complex<Real>> roots(n), line(n);
    for (std::size_t p = 0; p < n; ++p) {
      const auto angle = static_cast<Real>(sign * 6.283185307179586476925286766559L * static_cast<long double>(p) /
                                           static_cast<long double>(n));
      roots[p] = {std::cos(angle), std::sin(angle)};
    }
    for (std::size_t begin = 0; begin < points; ++begin) {
      if (begin / inner % n != 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        std::complex<Real> sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += data[begin + j * inner] * roots[j * k % n];
        line[k] = sum;
      }
      for (std::size_t k = 0; k < n; ++k) data[begin + k * inner] = line[k];
    }
    inner *= n;
  }
  const bool identity = fault("identity");  // there and back again is right
  for (std::size_t i = 0; i < points; ++i) {
    out[i] = identity ? in[i] * scale : std::complex<T>(static_cast<T>(data[i].real()), static_cast<T>(data[i].imag()));
  }
  if (fault("wrong_point")) out[points / 3] += static_cast<T>(1e-4);
  if (fault("nan")) out[points / 3] = std::numeric_limits<T>::quiet_NaN();
  if (fault("unwritten") && sign < 0) out[points - 1] = std::numeric_limits<T>::quiet_NaN();
  if (fault("crash")) std::raise(SIGSEGV);
}

template <class T>
void execute(void* plan, std::complex<T>* in, std::complex<T>* out) {
  const auto& asked = *static_cast<const Plan<T>*>(plan);
  fault("rough") ? transform<float>(asked, in, out) : transform<long double>(asked, in, out);
}

template <class T>
void* make(int rank, const int* n, int sign) {
  if (fault("no_plan")) return nullptr;
  return new Plan<T>{{n, n + rank}, sign};
}

}  // namespace

extern "C" {

extern const char fftw_version[];
const char fftw_version[] = "fftw-9.8.7-plain";

void* fftw_plan_many_dft(int rank, const int* n, int, std::complex<double>*, const int*, int, int,
                         std::complex<double>*, const int*, int, int, int sign, unsigned) {
  return make<double>(rank, n, sign);
}
void fftw_execute_dft(void* plan, std::complex<double>* in, std::complex<double>* out) { execute(plan, in, out); }
void fftw_destroy_plan(void* plan) { delete static_cast<Plan<double>*>(plan); }

void* fftwf_plan_many_dft(int rank, const int* n, int, std::complex<float>*, const int*, int, int, std::complex<float>*,
                          const int*, int, int, int sign, unsigned) {
  return make<float>(rank, n, sign);
}
void fftwf_execute_dft(void* plan, std::complex<float>* in, std::complex<float>* out) { execute(plan, in, out); }
void fftwf_destroy_plan(void* plan) { delete static_cast<Plan<float>*>(plan); }
}
