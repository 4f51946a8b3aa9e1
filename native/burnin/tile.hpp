// The inner loops of the product for one instruction set: a file for it brings the vector type and includes this.
//
// `Vector` has: Register, kLanes, kFused, load, store, set (one number in all lanes), zero, multiply_add (acc + a b).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "product.hpp"

namespace shakedown::burnin {
namespace {

/// Vectors x Columns accumulators in registers; every entry is one chain of multiply-adds in the order of k, so that
/// its bits follow from the operands alone.
template <class Vector, int Vectors, int Columns>
struct Tile {
  static constexpr int kRows = Vectors * Vector::kLanes;

  static void multiply(std::int64_t depth, const double* a, const double* b, double* c) {
    typename Vector::Register acc[Columns][Vectors];
#pragma GCC unroll 8
    for (auto& column : acc) {
#pragma GCC unroll 8
      for (auto& one : column) one = Vector::zero();
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      typename Vector::Register left[Vectors];
#pragma GCC unroll 8
      for (int i = 0; i < Vectors; ++i) left[i] = Vector::load(a + k * kRows + i * Vector::kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j) {
        const auto right = Vector::set(b[k * Columns + j]);
#pragma GCC unroll 8
        for (int i = 0; i < Vectors; ++i) acc[j][i] = Vector::multiply_add(acc[j][i], left[i], right);
      }
    }
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
#pragma GCC unroll 8
      for (int i = 0; i < Vectors; ++i) Vector::store(c + std::ptrdiff_t{j} * kRows + i * Vector::kLanes, acc[j][i]);
    }
  }

  /// Add the entries of a tile, as whole numbers modulo 2^64, to the sums of its rows and of its columns.
  static void sums(const double* c, std::uint64_t* rows, std::uint64_t* columns) {
    for (int j = 0; j < Columns; ++j) {
      std::uint64_t bits[kRows], sum = 0;
      std::memcpy(bits, c + std::ptrdiff_t{j} * kRows, sizeof bits);
      for (int i = 0; i < kRows; ++i) {
        rows[i] += bits[i];
        sum += bits[i];
      }
      columns[j] += sum;
    }
  }

  static constexpr Kernel kernel(const char* isa) { return {isa, kRows, Columns, Vector::kFused, multiply, sums}; }
};

}  // namespace
}  // namespace shakedown::burnin
