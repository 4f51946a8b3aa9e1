// The loops of the CPU, one set an instruction set: what a source named for one brings.
//
// A place is kept as fractions of the box in whole numbers of 32 or 64 bits, so that a difference of two places wraps
// round the box by itself: it is that of the nearest images, without a comparison and without copies of particles
// beyond the walls. In 32 bits the box is divided into 4.3e9 parts: finer than a single-precision number would be.
//
// Lanes of a vector are different particles i, and step k of a loop takes the k-th neighbour of each ("i in lanes"): no
// sum across lanes, no remainder for each particle, and the three coordinates of a neighbour are one load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace shakedown::lj {

template <class T>
using Fixed = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Where a particle is: 16 or 32 bytes.
template <class T>
struct alignas(4 * sizeof(T)) Place {
  Fixed<T> x, y, z, spare;
};

/// What is constant over a run.
template <class T>
struct Scales {
  T unit;   // length of one part of the box
  T unit2;  // its square
  T cutoff2;
};

/// A place in a list: how far it is from the first in units of eight bytes, so that 16 bits reach 32,767 or 16,383
/// places.
using Entry = std::uint16_t;
template <class T>
inline constexpr std::uint32_t kStep = sizeof(Place<T>) / 8;

/// Groups of `lanes` particles. `list` has for each group a row of its particles' own places and then rows[g] rows of
/// neighbours. Rows are padded with places that are beyond the cutoff; after the last group follows one row that is
/// loaded but not used.
template <class T>
struct Batch {
  const Place<T>* places;
  const Entry* list;
  const std::uint32_t* rows;
  std::size_t groups;
  Scales<T> scales;
  T *fx, *fy, *fz;  // forces, groups x lanes
};

/// Sums over the entries of a batch: each pair is met from both sides.
struct Sums {
  double potential = 0, virial = 0, pairs = 0;
};

/// Neighbours to choose from: relative to the middle of a cell, in units of sigma, and their entries; arrays with room
/// for 16 more.
template <class T>
struct Candidates {
  T *x, *y, *z;
  std::uint32_t* entry;
  std::size_t count;
};
/// Places that follow one another, and the entry of the first.
template <class T>
struct Run {
  const Place<T>* first;
  std::size_t count;
  std::uint32_t entry;
};
template <class T>
struct Middle {
  Place<T> at;
  T unit;
  T half;    // half the edge of the cell
  T range2;  // square of cutoff + skin
};

/// Particles first .. first + count - 1 of arrays in one order.
struct Motion {
  std::int64_t *x, *y, *z;  // fractions of the box, 64 bits
  double *vx, *vy, *vz;
  const std::uint32_t* slot;  // where their places are
  std::size_t count;
};

/// One precision's loops.
template <class T>
struct Loops {
  std::size_t lanes;
  void (*forces)(const Batch<T>&);
  void (*energies)(const Batch<T>&, Sums&);  // forces too
  /// Append the places of a run that may be within range of some place in the cell.
  void (*collect)(const Run<T>&, const Middle<T>&, Candidates<T>&);
  /// Write the entries of the candidates within range of (x, y, z), but for the one that is there, to `out` (room for
  /// 16 more); returns how many.
  std::size_t (*select)(const Candidates<T>&, T x, T y, T z, T range2, std::uint32_t* out);
  /// v += kick f, x += drift v, and the new places; returns the largest v^2.
  double (*move)(const Motion&, const T* fx, const T* fy, const T* fz, double kick, double drift, Place<T>* places);
  /// `list` from one list for each lane: rows of `lanes` entries, padded with pad[lane].
  void (*transpose)(const std::uint32_t* const* from, const std::uint32_t* lengths, const std::uint32_t* pad,
                    std::size_t rows, Entry* list);
};

struct Isa {
  const char* name;
  Loops<float> mixed;
  Loops<double> both_double;
};
template <class T>
const Loops<T>& loops_of(const Isa& isa) {
  if constexpr (sizeof(T) == 4) {
    return isa.mixed;
  } else {
    return isa.both_double;
  }
}

/// The names of those that were built in, widest first; "plain" last.
std::vector<std::string> isas_built();
/// Throws "could not measure" for one that was not built in. The machine must run it.
const Isa& isa_of(const std::string& name);
/// Those that were built in and run on this machine.
std::vector<const Isa*> isas_here();

}  // namespace shakedown::lj
