#include "rings.hpp"

#include <array>

namespace shakedown::multi_pair {
namespace {

void by_turns(const RingEnd& end) {
  const auto [left, right] = end.beside;
  MPI_Sendrecv(end.to_right, end.bytes, MPI_BYTE, right, kToRight, end.from_left, end.bytes, MPI_BYTE, left, kToRight,
               end.comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(end.to_left, end.bytes, MPI_BYTE, left, kToLeft, end.from_right, end.bytes, MPI_BYTE, right, kToLeft,
               end.comm, MPI_STATUS_IGNORE);
}

void at_once(const RingEnd& end) {
  const auto [left, right] = end.beside;
  std::array<MPI_Request, 4> requests{};
  MPI_Irecv(end.from_left, end.bytes, MPI_BYTE, left, kToRight, end.comm, &requests[0]);
  MPI_Irecv(end.from_right, end.bytes, MPI_BYTE, right, kToLeft, end.comm, &requests[1]);
  MPI_Isend(end.to_right, end.bytes, MPI_BYTE, right, kToRight, end.comm, &requests[2]);
  MPI_Isend(end.to_left, end.bytes, MPI_BYTE, left, kToLeft, end.comm, &requests[3]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

const char* name_of(RingMethod method) { return method == RingMethod::sendrecv ? "sendrecv" : "non-blocking"; }

void exchange(RingMethod method, const RingEnd& end, std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations; ++i) {
    if (method == RingMethod::sendrecv) {
      by_turns(end);
    } else {
      at_once(end);
    }
  }
}

}  // namespace shakedown::multi_pair
