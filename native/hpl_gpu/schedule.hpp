// What a rank does, in which stream, and what waits for what: as data, so that it can be checked (schedule_test.cpp)
// and is then carried out as it stands (factor.cpp).
//
// Steps of one lane happen in their order. A step of a lane of the device starts when all that it names in `after` has
// happened; a step of the host begins by waiting for that. The host puts steps into the lanes in the order of the list
// and goes on, so that a step of the host is done before any later step starts.
#pragma once

#include <vector>

#include "geometry.hpp"

namespace shakedown::hpl_gpu {

enum class Op {
  load,      // copy a panel's columns out of the matrix
  factor,    // factor the panel; with several process rows the host takes part
  keep,      // write its triangle of U back into the matrix
  fetch,     // bring the pivots to the host
  collect,   // bring the panel to the host, where messages start there
  plan,      // host: which rows go where
  send,      // host: begin the panel's broadcast, as its root or not
  arrive,    // host: until it is here
  deliver,   // bring it to the device, where messages end on the host
  upload,    // the lists of rows, to the device
  reorder,   // the triangle's inverse, its columns in the order of the gathered rows
  rows,      // one process row: gather the rows of U, and fill their places
  pack,      // several: gather this rank's rows of U and those that others get
  exchange,  // host: begin their exchange
  receive,   // host: until all are here
  unpack,    // fill the places
  solve,     // the rows of U, transposed
  place,     // write them into the matrix
  update,    // the trailing matrix
};
const char* word(Op op);

enum class Lane { update, panel, rows, host };

struct Step {
  Op op;
  Lane lane;
  int k = 0;                 // panel
  Side side = Side::ahead;   // of rows ... update
  std::vector<int> after{};  // earlier steps of other lanes of the device
};

/// `staged`: messages start and end in memory of the host, not of the device. A pure function.
std::vector<Step> schedule(const Geometry& geometry, bool staged);

/// Panels and lists have two memories, which take turns.
inline constexpr int kSlots = 2;

}  // namespace shakedown::hpl_gpu
