// What a rank does, in which stream, and what waits for what: as data, so that it can be checked (schedule_test.cpp)
// and is then carried out as it stands (factor.cpp).
//
// Steps of one lane happen in their order. A step of a lane of the device starts when all that it names in `after` has
// happened; a step of the host begins by waiting for that. The host puts steps into the lanes in the order of the list
// and goes on, so that a step of the host is done before any later step starts.
#pragma once

#include <vector>

#include "hpl_gpu/geometry.hpp"

namespace shakedown::hpl_mxp {

using hpl_gpu::Geometry;
using hpl_gpu::Index;

/// Panel k is a corner (its diagonal block, factored), the left (L below it) and the top (U to its right).
enum class Op {
  column,   // the columns of panel k see panel k - 1
  row,      // its rows, right of the diagonal block, too
  factor,   // the diagonal block
  keep,     // write it back into the matrix
  left,     // solve for L below it
  top,      // solve for U to its right
  narrow,   // make 16 bits of one of them, for the products
  collect,  // bring a part to the host, where messages start there
  send,     // host: begin a part's broadcast, as its root or not
  arrive,   // host: until it is here
  deliver,  // bring it to the device, where messages end on the host
  update,   // the rest of the matrix sees panel k
};
const char* word(Op op);

/// What a message carries, and which way: the corner down its process column and along its process row, the left along
/// every process row, the top down every process column.
enum class Piece { none, corner_down, corner_along, left, top };
inline constexpr int kPieces = 4;
inline constexpr bool goes_down(Piece piece) { return piece == Piece::corner_down || piece == Piece::top; }

enum class Lane { update, panel, host };

struct Step {
  Op op;
  Lane lane;
  int k = 0;  // panel
  Piece piece = Piece::none;
  std::vector<int> after{};  // earlier steps of other lanes of the device
};

/// `staged`: messages start and end in memory of the host, not of the device. A pure function.
std::vector<Step> schedule(const Geometry& geometry, bool staged);

/// Panels have two memories, which take turns.
inline constexpr int kSlots = 2;

}  // namespace shakedown::hpl_mxp
