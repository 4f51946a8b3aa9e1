// The host backend's transforms: the reference for tests. Decimation in time by the prime factors of a length, in
// double whatever the precision of the data; roots to the precision of a double.
#include <cmath>
#include <complex>

#include "host.hpp"
#include "transforms.hpp"

namespace shakedown::gpu {
namespace {

using Complex = std::complex<double>;

std::size_t least_factor(std::size_t n) {
  for (std::size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

/// exp(sign 2 pi i p / n) for all p.
std::vector<Complex> roots_of(std::size_t n, int sign) {
  constexpr long double kTurn = 6.283185307179586476925286766559L;
  std::vector<Complex> roots(n);
  for (std::size_t p = 0; p < n; ++p) {
    const long double angle = sign * kTurn * static_cast<long double>(p) / static_cast<long double>(n);
    roots[p] = {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
  }
  return roots;
}

/// out[k] = sum over j of in[j step] root^(j k), for k below n; the table's root is the n-th where step is 1.
void line(const Complex* in, std::size_t step, Complex* out, std::size_t n, const std::vector<Complex>& roots) {
  if (n == 1) {
    *out = *in;
    return;
  }
  const std::size_t p = least_factor(n), m = n / p;
  for (std::size_t r = 0; r < p; ++r) line(in + r * step, step * p, out + r * m, m, roots);
  std::vector<Complex> terms(p);
  for (std::size_t k = 0; k < m; ++k) {
    for (std::size_t r = 0; r < p; ++r) terms[r] = out[r * m + k];
    for (std::size_t q = 0; q < p; ++q) {
      Complex sum = terms[0];
      for (std::size_t r = 1; r < p; ++r) sum += terms[r] * roots[r * (k + q * m) % n * step];
      out[q * m + k] = sum;
    }
  }
}

/// Every line of one dimension, in place: `inner` points lie between neighbours on a line.
void dimension(std::vector<Complex>& data, std::size_t n, std::size_t inner, int sign) {
  const auto roots = roots_of(n, sign);
  parallel(
      data.size() / n,
      [&](std::size_t begin, std::size_t end) {
        std::vector<Complex> from(n), to(n);
        for (std::size_t one = begin; one < end; ++one) {
          Complex* const first = data.data() + one / inner * inner * n + one % inner;
          for (std::size_t j = 0; j < n; ++j) from[j] = first[j * inner];
          line(from.data(), 1, to.data(), n, roots);
          for (std::size_t j = 0; j < n; ++j) first[j * inner] = to[j];
        }
      },
      16);
}

template <class T>
void transform(const TransformShape& shape, const void* in, void* out, int sign) {
  const auto* from = static_cast<const std::complex<T>*>(in);
  auto* to = static_cast<std::complex<T>*>(out);
  const auto points = static_cast<std::size_t>(shape.points());
  std::vector<Complex> data(points);
  for (std::size_t one = 0; one < static_cast<std::size_t>(shape.batch); ++one) {
    for (std::size_t i = 0; i < points; ++i) data[i] = Complex(from[one * points + i]);
    std::size_t inner = 1;
    for (std::size_t d = shape.lengths.size(); d-- > 0;) {
      const auto n = static_cast<std::size_t>(shape.lengths[d]);
      dimension(data, n, inner, sign);
      inner *= n;
    }
    for (std::size_t i = 0; i < points; ++i) to[one * points + i] = std::complex<T>(data[i]);
  }
}

class HostTransform final : public Transform {
 public:
  explicit HostTransform(TransformShape shape) : shape_(std::move(shape)) {}
  [[nodiscard]] std::size_t work_bytes() const override { return 0; }
  void lend(void*) override {}
  void run(const void* in, void* out, Way way, Handle) override {
    const int sign = way == Way::forward ? -1 : 1;
    shape_.in_double ? transform<double>(shape_, in, out, sign) : transform<float>(shape_, in, out, sign);
  }

 private:
  TransformShape shape_;
};

class HostTransforms final : public Transforms {
 public:
  [[nodiscard]] std::string title() const override { return "host"; }
  std::unique_ptr<Transform> plan(const TransformShape& shape) override {
    return std::make_unique<HostTransform>(shape);
  }
};

}  // namespace

std::unique_ptr<Transforms> host_transforms() { return std::make_unique<HostTransforms>(); }

}  // namespace shakedown::gpu
