#include "operations.hpp"

#include <algorithm>

namespace shakedown::overlap {
namespace {

constexpr int kTag = 3;
constexpr std::array<const char*, 4> kMessages = {"", "send", "receive", "exchange"};

int count_of(const Call& call) { return static_cast<int>(call.collective.view.count); }
int peer_of(const Call& call) { return 1 - call.collective.view.rank; }
/// Of one message: the first rank sends it.
bool sends(const Call& call) { return call.operation.messages == Messages::exchange || call.collective.view.rank == 0; }
bool receives(const Call& call) {
  return call.operation.messages == Messages::exchange || call.collective.view.rank == 1;
}

}  // namespace

std::string name_of(const Operation& operation) {
  if (operation.messages != Messages::none) return kMessages[static_cast<std::size_t>(operation.messages)];
  return std::string("i") + collectives::name_of(operation.collective);
}

std::vector<Operation> all_operations() {
  std::vector<Operation> found;
  for (const Messages one : {Messages::send, Messages::receive, Messages::exchange}) found.push_back({one, {}});
  for (int i = 0; i < collectives::kOperations; ++i) {
    found.push_back({Messages::none, static_cast<collectives::Operation>(i)});
  }
  return found;
}

bool is_of_two(const Operation& operation) { return operation.messages != Messages::none; }

std::size_t buffer_words(const Operation& operation, std::size_t bytes, int ranks) {
  const std::size_t count = bytes / sizeof(Word);
  if (is_of_two(operation)) return std::max<std::size_t>(count, 1);
  return std::max<std::size_t>(collectives::buffer_words({operation.collective, ranks, 0, 0, count}), 1);
}

Call call_of(const Operation& operation, std::size_t bytes, int rank, int ranks, MPI_Comm comm, Word* send,
             Word* receive) {
  Call call;
  call.operation = operation;
  const std::size_t count = operation == Operation{} ? 0 : bytes / sizeof(Word);  // a barrier has no data
  call.collective.view = {operation.collective, ranks, rank, 0, count};
  call.collective.comm = comm;
  call.collective.send = send;
  call.collective.receive = receive;
  if (!is_of_two(operation)) collectives::set_counts(call.collective);
  return call;
}

bool computes(const Call& call) {
  if (call.operation.messages == Messages::send) return sends(call);
  if (call.operation.messages == Messages::receive) return receives(call);
  return true;
}

void post(Call& call) {
  if (!is_of_two(call.operation)) {
    call.requests[0] = collectives::post(call.collective);
    return;
  }
  const collectives::Call& of = call.collective;
  if (receives(call)) {
    MPI_Irecv(of.receive, count_of(call), MPI_UINT64_T, peer_of(call), kTag, of.comm, call.requests.data());
  }
  if (sends(call)) {
    MPI_Isend(of.send, count_of(call), MPI_UINT64_T, peer_of(call), kTag, of.comm, &call.requests[1]);
  }
}

bool test(Call& call) {
  int done = 0;
  MPI_Testall(2, call.requests.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0;
}

void wait(Call& call) { MPI_Waitall(2, call.requests.data(), MPI_STATUSES_IGNORE); }

void set_input(const Call& call) {
  if (!is_of_two(call.operation)) collectives::set_input(call.collective);
}

std::vector<Word> expected(const Call& call, Word seed) {
  if (!is_of_two(call.operation)) return collectives::expected(call.collective.view, seed);
  if (!receives(call)) return {};
  std::vector<Word> words(call.collective.view.count);
  collectives::fill_input(words, peer_of(call), seed);
  return words;
}

}  // namespace shakedown::overlap
