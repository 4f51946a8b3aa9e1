#include "calls.hpp"

namespace shakedown::onesided {
namespace {

template <class Do>
void repeat(const Call& call, std::int64_t iterations, Do&& act) {
  const int slots = call.shape.slots;
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (int slot = 0; slot < slots; ++slot) act(slot);
    MPI_Win_flush(call.target, call.window);
  }
}

/// Atomic operations on a word of this type.
template <class Value>
void operate_on_word(Call& call, MPI_Datatype type, std::int64_t iterations) {
  auto* const out = reinterpret_cast<Value*>(call.out);
  auto* const in = reinterpret_cast<Value*>(call.in);
  auto* const compare = reinterpret_cast<Value*>(call.compare);
  if (call.shape.operation == Operation::fetch_and_op) {
    return repeat(call, iterations, [&](int slot) {
      MPI_Fetch_and_op(out, in + slot, type, call.target, call.base, MPI_SUM, call.window);
    });
  }
  repeat(call, iterations, [&](int slot) {
    compare[slot] = static_cast<Value>(call.next);
    out[slot] = static_cast<Value>(++call.next);
    MPI_Compare_and_swap(out + slot, compare + slot, in + slot, type, call.target, call.base, call.window);
  });
}

void sum(Call& call, std::int64_t iterations) {
  const bool words = call.shape.element == Element::word;
  const MPI_Datatype type = words ? MPI_UINT64_T : MPI_UINT8_T;
  const int count = static_cast<int>(call.shape.bytes / (words ? sizeof(Word) : 1));
  const std::size_t bytes = call.shape.bytes;
  if (call.shape.operation == Operation::accumulate) {
    repeat(call, iterations, [&](int slot) {
      const std::size_t at = static_cast<std::size_t>(slot) * bytes;
      MPI_Accumulate(call.out + at, count, type, call.target, call.base + static_cast<MPI_Aint>(at), count, type,
                     MPI_SUM, call.window);
    });
  } else {
    repeat(call, iterations, [&](int slot) {
      const std::size_t at = static_cast<std::size_t>(slot) * bytes;
      MPI_Get_accumulate(call.out + at, count, type, call.in + at, count, type, call.target,
                         call.base + static_cast<MPI_Aint>(at), count, type, MPI_SUM, call.window);
    });
  }
}

}  // namespace

void operate(Call& call, std::int64_t iterations) {
  const std::size_t bytes = call.shape.bytes;
  const int count = static_cast<int>(bytes);
  switch (call.shape.operation) {
    case Operation::put:
      return repeat(call, iterations, [&](int slot) {
        const std::size_t at = static_cast<std::size_t>(slot) * bytes;
        MPI_Put(call.out + at, count, MPI_BYTE, call.target, call.base + static_cast<MPI_Aint>(at), count, MPI_BYTE,
                call.window);
      });
    case Operation::get:
      return repeat(call, iterations, [&](int slot) {
        const std::size_t at = static_cast<std::size_t>(slot) * bytes;
        MPI_Get(call.in + at, count, MPI_BYTE, call.target, call.base + static_cast<MPI_Aint>(at), count, MPI_BYTE,
                call.window);
      });
    case Operation::accumulate:
    case Operation::get_accumulate:
      return sum(call, iterations);
    case Operation::fetch_and_op:
    case Operation::compare_and_swap:
      if (bytes == sizeof(std::uint32_t)) return operate_on_word<std::uint32_t>(call, MPI_UINT32_T, iterations);
      return operate_on_word<std::uint64_t>(call, MPI_UINT64_T, iterations);
  }
}

}  // namespace shakedown::onesided
