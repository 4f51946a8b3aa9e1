// The loops in ordinary C++ for the baseline: for any architecture.
#include "loops.hpp"

namespace shakedown::lj {
namespace {

template <class Number, std::size_t Lanes>
struct Plain {
  using T = Number;
  static constexpr std::size_t kLanes = Lanes;
  struct V {
    T at[kLanes];
  };
  struct I {
    Fixed<T> at[kLanes];
  };
  struct M {
    bool at[kLanes];
  };

  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const auto* from = at(places, entry[k]);
      x.at[k] = from->x;
      y.at[k] = from->y;
      z.at[k] = from->z;
    }
  }
  template <class F>
  SHAKEDOWN_INLINE static V each(F&& f) {
    V out;
    for (std::size_t k = 0; k < kLanes; ++k) out.at[k] = f(k);
    return out;
  }
  SHAKEDOWN_INLINE static V delta(const I& a, const I& b) {
    using U = std::make_unsigned_t<Fixed<T>>;
    return each([&](std::size_t k) {
      return static_cast<T>(static_cast<Fixed<T>>(static_cast<U>(a.at[k]) - static_cast<U>(b.at[k])));
    });
  }
  SHAKEDOWN_INLINE static V set(T x) {
    return each([&](std::size_t) { return x; });
  }
  SHAKEDOWN_INLINE static V add(const V& a, const V& b) {
    return each([&](std::size_t k) { return a.at[k] + b.at[k]; });
  }
  SHAKEDOWN_INLINE static V mul(const V& a, const V& b) {
    return each([&](std::size_t k) { return a.at[k] * b.at[k]; });
  }
  SHAKEDOWN_INLINE static V fma(const V& a, const V& b, const V& c) {
    return each([&](std::size_t k) { return a.at[k] * b.at[k] + c.at[k]; });
  }
  SHAKEDOWN_INLINE static V reciprocal(const V& a) {
    return each([&](std::size_t k) { return T{1} / a.at[k]; });
  }
  SHAKEDOWN_INLINE static M below(const V& a, const V& b) {
    M out;
    for (std::size_t k = 0; k < kLanes; ++k) out.at[k] = a.at[k] < b.at[k];
    return out;
  }
  SHAKEDOWN_INLINE static V keep(const M& mask, const V& x) {
    return each([&](std::size_t k) { return mask.at[k] ? x.at[k] : T{0}; });
  }
  SHAKEDOWN_INLINE static void store(T* to, const V& x) { std::copy(x.at, x.at + kLanes, to); }
  SHAKEDOWN_INLINE static double total(const V& x) {
    double sum = 0;
    for (const T one : x.at) sum += static_cast<double>(one);
    return sum;
  }
  SHAKEDOWN_INLINE static std::size_t count(const M& mask) {
    return static_cast<std::size_t>(std::count(mask.at, mask.at + kLanes, true));
  }
};

}  // namespace

extern const Isa kPlain;
const Isa kPlain = {"plain", make_loops<Plain<float, 4>>(), make_loops<Plain<double, 4>>()};
}  // namespace shakedown::lj
