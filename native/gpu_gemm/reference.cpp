// The check of a product: rows computed again, and Freivalds' test of all rows at once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "gpu/host.hpp"
#include "gpu_gemm.hpp"

namespace shakedown::gpu_gemm {
namespace {

constexpr std::uint64_t kA = 1, kB = 2, kSigns = 3;

double sign(std::size_t j) { return gpu::random_bits(kSigns, j) >> 63 != 0 ? 1 : -1; }

/// The accumulator's unit: tensor cores of Hopper keep 14 bits of sums of 8-bit products (DeepSeek-V3, arXiv
/// 2412.19437, section 3.3.2); the others add in the format of C or in single precision.
double accumulator(int format) { return format == kF64 ? 0x1p-52 : format == kF8 ? 0x1p-13 : 0x1p-23; }

/// The larger of two; NaN wins and stays.
double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

/// Half of the distance between neighbours of 1 in the format of C.
double rounding(int format) {
  switch (format) {
    case kF64:
      return 0x1p-53;
    case kF16:
      return 0x1p-11;
    case kBf16:
    case kF8:
      return 0x1p-9;
    default:
      return 0x1p-24;
  }
}

}  // namespace

int result_width(int format) { return format == kF64 ? 8 : format == kF32 || format == kTf32 || format == kI8 ? 4 : 2; }

double result_value(int format, const void* at, std::size_t place) {
  switch (format) {
    case kF64:
      return static_cast<const double*>(at)[place];
    case kF32:
    case kTf32:
      return static_cast<double>(static_cast<const float*>(at)[place]);
    case kI8:
      return static_cast<double>(static_cast<const std::int32_t*>(at)[place]);
    case kF16:
      return static_cast<double>(gpu::widen(static_cast<const std::uint16_t*>(at)[place], gpu::kHalf));
    default:
      return static_cast<double>(gpu::widen(static_cast<const std::uint16_t*>(at)[place], gpu::kBfloat));
  }
}

double unit_of(const Problem& problem, double largest) {
  if (problem.format == kI8) return 0;
  const double most = problem.data == kRandom ? 0.25 : 1;  // of a product of entries
  return accumulator(problem.format) * static_cast<double>(problem.n) * most + rounding(problem.format) * largest;
}

Reference::Reference(const Problem& problem, std::size_t rows)
    : problem_(problem), product_(problem.n), seen_(problem.n) {
  const std::size_t n = problem.n;
  rows_ = {0, n - 1};
  for (std::uint64_t i = 0; rows_.size() < std::min(rows, n); ++i) rows_.push_back(gpu::random_bits(n, i) % n);
  rows_.resize(std::min(rows, n));
  const auto value = [&](std::uint64_t seed, std::size_t i, std::size_t j) {
    return entry(problem.format, problem.data, seed, i, j).value;
  };
  std::vector<double> left(rows_.size() * n), inner(n);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t l = 0; l < n; ++l) left[l * rows_.size() + r] = value(kA, rows_[r], l);
  }
  expected_.assign(rows_.size() * n, 0);
  std::mutex joining;
  gpu::parallel(
      n,
      [&](std::size_t begin, std::size_t end) {
        std::vector<double> part(n);
        for (std::size_t j = begin; j < end; ++j) {
          double* sums = &expected_[j * rows_.size()];
          const double s = sign(j);
          for (std::size_t l = 0; l < n; ++l) {
            const double b = value(kB, l, j);
            part[l] += s * b;
            for (std::size_t r = 0; r < rows_.size(); ++r) sums[r] += left[l * rows_.size() + r] * b;
          }
        }
        const std::scoped_lock lock(joining);
        for (std::size_t l = 0; l < n; ++l) inner[l] += part[l];
      },
      16);
  gpu::parallel(
      n,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          double sum = 0;
          for (std::size_t l = 0; l < n; ++l) sum += value(kA, i, l) * inner[l];
          product_[i] = sum;
        }
      },
      16);
}

void Reference::look(const void* at, std::size_t begin, std::size_t end) {
  const std::size_t n = problem_.n;
  for (std::size_t j = begin; j < end; ++j) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const double found = result_value(problem_.format, at, (j - begin) * n + rows_[r]);
      const double error = std::abs(found - expected_[j * rows_.size() + r]);
      worst_ = worse(worst_, error);
      largest_ = worse(largest_, std::abs(found));
    }
  }
  gpu::parallel(
      n,
      [&](std::size_t first, std::size_t last) {
        for (std::size_t j = begin; j < end; ++j) {
          const double s = sign(j);
          for (std::size_t i = first; i < last; ++i)
            seen_[i] += s * result_value(problem_.format, at, (j - begin) * n + i);
        }
      },
      256);
}

double Reference::residual() const {
  double whole = 0;
  for (std::size_t i = 0; i < problem_.n; ++i) whole = worse(whole, std::abs(seen_[i] - product_[i]));
  if (std::isnan(whole) || std::isnan(worst_)) return std::numeric_limits<double>::quiet_NaN();
  if (problem_.format == kI8) return std::max(whole, worst_);
  const double unit = unit_of(problem_, largest_);
  return std::max(worst_ / unit, whole / (unit * std::sqrt(static_cast<double>(problem_.n))));
}

const char* Reference::kind() const { return problem_.format == kI8 ? "difference" : "error over rounding"; }

}  // namespace shakedown::gpu_gemm
