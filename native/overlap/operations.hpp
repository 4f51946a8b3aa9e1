// The operations: messages between two ranks, and MPI's non-blocking collective operations; what each rank sends and
// must have afterwards.
#pragma once

#include <mpi.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "collectives/calls.hpp"
#include "collectives/content.hpp"

namespace shakedown::overlap {

using collectives::Word;

/// Of the messages: who computes meanwhile. The other end of `send` and `receive` waits in MPI.
enum class Messages : std::uint8_t { none, send, receive, exchange };

struct Operation {
  Messages messages = Messages::none;
  collectives::Operation collective = collectives::Operation::barrier;  // where there are no messages
  bool operator==(const Operation&) const = default;
};

/// send, receive, exchange; ibarrier, ibcast, ...
std::string name_of(const Operation& operation);
std::vector<Operation> all_operations();
bool is_of_two(const Operation& operation);

/// What a rank needs of memory: words of each of its two buffers.
std::size_t buffer_words(const Operation& operation, std::size_t bytes, int ranks);

/// One operation as a rank of a group calls it.
struct Call {
  Operation operation;
  collectives::Call collective;  // its buffers, view and communicator are those of messages, too
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// `send` and `receive` have room for buffer_words.
Call call_of(const Operation& operation, std::size_t bytes, int rank, int ranks, MPI_Comm comm, Word* send,
             Word* receive);
/// Whether the rank computes while the operation is under way.
bool computes(const Call& call);

void post(Call& call);
/// Whether it is done; lets MPI make progress.
bool test(Call& call);
void wait(Call& call);

/// What the receive buffer must hold before each call.
void set_input(const Call& call);
/// What it must begin with afterwards; empty where the rank gets nothing.
std::vector<Word> expected(const Call& call, Word seed);

}  // namespace shakedown::overlap
