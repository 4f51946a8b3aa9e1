// What is timed: one MPI operation, or a mock-up of it from others. Plain MPI calls, and copies where a mock-up needs
// them.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "content.hpp"

namespace shakedown::collectives {

/// One operation as this rank calls it. Buffers hold `buffer_words` words each.
struct Call {
  View view;
  MPI_Comm comm = MPI_COMM_NULL;
  bool in_place = false;
  Word* send = nullptr;
  Word* receive = nullptr;
  Word* scratch = nullptr;
  std::vector<int> counts;  // for the operations of several counts: all equal, block after block
  std::vector<int> begins;
};

/// A way to get an operation's result. `name` says it: "library", "non-blocking", or a mock-up such as "reduce+bcast".
struct Method {
  std::string name;
  void (*run)(const Call& call) = nullptr;
  bool is_mockup = false;
};

/// The counts and begins of `call`, from its view.
void set_counts(Call& call);

/// The library's operation, where `nonblocking` its form with a request and a wait, and where it is not in place the
/// mock-ups: what the operation must not be slower than (Traeff, Gropp, Thakur 2010, "Self-consistent MPI performance
/// guidelines", IEEE TPDS 21(5)).
std::vector<Method> methods_of(Operation operation, bool in_place, bool nonblocking);

/// Begin the operation in its non-blocking form.
MPI_Request post(const Call& call);

/// What the receive buffer must hold before each call: the input of an operation in place, and of a broadcast's root.
void set_input(const Call& call);

}  // namespace shakedown::collectives
