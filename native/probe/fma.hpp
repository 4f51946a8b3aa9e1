// The loops of probe.hpp over one vector type. A file for an instruction set brings the type and includes this.
//
// `Vector` has: Scalar, Register, kLanes, load, store, set (one number in all lanes), add (acc + p q), sub (acc - p q).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/chain.hpp"
#include "probe.hpp"

namespace shakedown::probe {
namespace {

template <class Vector, int Chains>
struct Loops {
  using Scalar = typename Vector::Scalar;
  using Register = typename Vector::Register;
  static_assert(Chains <= kMostChains);

  struct Set {
    Register acc[Chains], p[2], q[2];
  };

  [[gnu::always_inline]] static void begin(Set& set, const Factors<Scalar>& factors, const Scalar* state) {
    for (int i = 0; i < 2; ++i) {
      set.p[i] = Vector::set(factors.p[i]);
      set.q[i] = Vector::set(factors.q[i]);
    }
    load(set, state, std::make_index_sequence<Chains>{});
  }

  template <std::size_t... I>
  [[gnu::always_inline]] static void load(Set& set, const Scalar* state, std::index_sequence<I...>) {
    ((set.acc[I] = Vector::load(state + I * Vector::kLanes)), ...);
  }
  template <std::size_t... I>
  [[gnu::always_inline]] static void store(const Set& set, Scalar* state, std::index_sequence<I...>) {
    (Vector::store(state + I * Vector::kLanes, set.acc[I]), ...);
  }

  /// One step on every accumulator, with Adds additions of the integer chain spread evenly between.
  template <bool Up, int Adds, std::size_t... I>
  [[gnu::always_inline]] static void step(Set& set, std::uint64_t& sum, std::uint64_t one, std::index_sequence<I...>) {
    constexpr int kChains = Chains;
    ((set.acc[I] = Up ? Vector::add(set.acc[I], set.p[I % 2], set.q[I % 2])
                      : Vector::sub(set.acc[I], set.p[I % 2], set.q[I % 2]),
      add_times<static_cast<int>((I + 1) * Adds / kChains - I * Adds / kChains)>(sum, one)),
     ...);
  }

  template <bool Up, int Adds>
  [[gnu::always_inline]] static void half_block(Set& set, std::uint64_t& sum, std::uint64_t one) {
    for (int i = 0; i < kSteps; i += 2) {
      step<Up, Adds>(set, sum, one, std::make_index_sequence<Chains>{});
      step<Up, Adds>(set, sum, one, std::make_index_sequence<Chains>{});
    }
  }

  template <int Adds>
  static std::uint64_t run(std::int64_t blocks, const Factors<Scalar>& factors, Scalar* state) {
    Set set;
    begin(set, factors, state);
    std::uint64_t sum = 0;
    const std::uint64_t one = opaque_one();
    for (std::int64_t block = 0; block < blocks; ++block) {
      half_block<true, Adds>(set, sum, one);
      half_block<false, Adds>(set, sum, one);
    }
    half_block<true, Adds>(set, sum, one);
    store(set, state, std::make_index_sequence<Chains>{});
    return sum;
  }
};

/// Additions for each step over Chains accumulators, so that Units multiply-adds a cycle fill five sixths of the time.
template <int Chains, int Units>
inline constexpr int kAdds = (Chains * 6 / 5 + Units - 1) / Units;

/// The kernel of one instruction set: Double and Single are its vector types.
template <class Double, class Single, int Chains>
struct Build {
  static void fma64(std::int64_t blocks, double* state) {
    Loops<Double, Chains>::template run<0>(blocks, kFactors64, state);
  }
  static void fma32(std::int64_t blocks, float* state) {
    Loops<Single, Chains>::template run<0>(blocks, kFactors32, state);
  }
  static std::uint64_t mixed(std::int64_t blocks, int density, double* state) {
    if (density == 0) return Loops<Double, Chains>::template run<kAdds<Chains, 1>>(blocks, kFactors64, state);
    if (density == 1) return Loops<Double, Chains>::template run<kAdds<Chains, 2>>(blocks, kFactors64, state);
    return Loops<Double, Chains>::template run<kAdds<Chains, 4>>(blocks, kFactors64, state);
  }
  static constexpr Kernel kernel(const char* isa) {
    return {isa,   Double::kLanes, Single::kLanes, Chains,
            fma64, fma32,          mixed,          {kAdds<Chains, 1>, kAdds<Chains, 2>, kAdds<Chains, 4>}};
  }
};

}  // namespace
}  // namespace shakedown::probe
