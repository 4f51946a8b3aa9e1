#include "calls.hpp"

#include <shmem.h>

namespace shakedown::shmem {
namespace {

template <class Act>
void repeat(const Call& call, std::int64_t rounds, Act&& act) {
  const int slots = call.shape.slots;
  if (call.shape.mode == Mode::completed || call.shape.mode == Mode::fenced) {
    const bool fence = call.shape.mode == Mode::fenced;
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (int slot = 0; slot < slots; ++slot) {
        act(slot, round);
        if (fence) {
          shmem_fence();
        } else {
          shmem_quiet();
        }
      }
    }
    return;
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int slot = 0; slot < slots; ++slot) act(slot, round);
    shmem_quiet();
  }
}

void transfer(Call& call, std::int64_t rounds) {
  const std::size_t bytes = call.shape.bytes;
  const int target = call.target;
  const auto at = [bytes](std::uint8_t* data, int slot) { return data + static_cast<std::size_t>(slot) * bytes; };
  const bool nonblocking = call.shape.mode == Mode::nonblocking;
  if (call.shape.operation == Operation::put) {
    if (nonblocking) {
      return repeat(call, rounds, [&](int slot, std::int64_t) {
        shmem_putmem_nbi(at(call.window, slot), at(call.out, slot), bytes, target);
      });
    }
    return repeat(call, rounds, [&](int slot, std::int64_t) {
      shmem_putmem(at(call.window, slot), at(call.out, slot), bytes, target);
    });
  }
  if (nonblocking) {
    return repeat(call, rounds, [&](int slot, std::int64_t) {
      shmem_getmem_nbi(at(call.in, slot), at(call.window, slot), bytes, target);
    });
  }
  // A get has ended when it returns.
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int slot = 0; slot < call.shape.slots; ++slot) {
      shmem_getmem(at(call.in, slot), at(call.window, slot), bytes, target);
    }
  }
}

/// The atomic operations of OpenSHMEM on one type.
template <class Value, auto kFetchAdd, auto kAdd, auto kFetchInc, auto kInc, auto kSwap, auto kCompareSwap, auto kSet,
          auto kFetch>
struct Atomics {
  static void operate(Call& call, std::int64_t rounds) {
    auto* const words = reinterpret_cast<Value*>(call.window);
    auto* const in = reinterpret_cast<Value*>(call.in);
    const int pe = call.target;
    // What the operation of a round finds on its word.
    const auto found = [&](int slot, std::int64_t round) {
      const Word word = call.initial[static_cast<std::size_t>(slot)] + call.done + static_cast<Word>(round);
      return static_cast<Value>(word);
    };
    switch (call.shape.operation) {
      case Operation::fetch_add:
        return repeat(call, rounds, [&](int slot, std::int64_t) { in[slot] = kFetchAdd(words + slot, 1, pe); });
      case Operation::add:
        return repeat(call, rounds, [&](int slot, std::int64_t) { kAdd(words + slot, 1, pe); });
      case Operation::fetch_inc:
        return repeat(call, rounds, [&](int slot, std::int64_t) { in[slot] = kFetchInc(words + slot, pe); });
      case Operation::inc:
        return repeat(call, rounds, [&](int slot, std::int64_t) { kInc(words + slot, pe); });
      case Operation::swap:
        return repeat(call, rounds, [&](int slot, std::int64_t round) {
          in[slot] = kSwap(words + slot, static_cast<Value>(found(slot, round) + 1), pe);
        });
      case Operation::compare_swap:
        return repeat(call, rounds, [&](int slot, std::int64_t round) {
          const Value old = found(slot, round);
          in[slot] = kCompareSwap(words + slot, old, static_cast<Value>(old + 1), pe);
        });
      case Operation::set:
        return repeat(call, rounds, [&](int slot, std::int64_t round) {
          kSet(words + slot, static_cast<Value>(found(slot, round) + 1), pe);
        });
      case Operation::fetch:
        return repeat(call, rounds, [&](int slot, std::int64_t) { in[slot] = kFetch(words + slot, pe); });
      default:
        return;
    }
  }

  static Word once(const Call& call, Word leaves, Word finds) {
    auto* const word = reinterpret_cast<Value*>(call.window);
    const auto value = static_cast<Value>(leaves);
    Value old = 0;
    switch (call.shape.operation) {
      case Operation::fetch_add:
        old = kFetchAdd(word, 1, call.target);
        break;
      case Operation::add:
        kAdd(word, 1, call.target);
        break;
      case Operation::fetch_inc:
        old = kFetchInc(word, call.target);
        break;
      case Operation::inc:
        kInc(word, call.target);
        break;
      case Operation::swap:
        old = kSwap(word, value, call.target);
        break;
      case Operation::compare_swap:
        old = kCompareSwap(word, static_cast<Value>(finds), value, call.target);
        break;
      default:
        break;
    }
    return static_cast<Word>(old);
  }
};

using Int =
    Atomics<int, shmem_int_atomic_fetch_add, shmem_int_atomic_add, shmem_int_atomic_fetch_inc, shmem_int_atomic_inc,
            shmem_int_atomic_swap, shmem_int_atomic_compare_swap, shmem_int_atomic_set, shmem_int_atomic_fetch>;
using LongLong = Atomics<long long, shmem_longlong_atomic_fetch_add, shmem_longlong_atomic_add,
                         shmem_longlong_atomic_fetch_inc, shmem_longlong_atomic_inc, shmem_longlong_atomic_swap,
                         shmem_longlong_atomic_compare_swap, shmem_longlong_atomic_set, shmem_longlong_atomic_fetch>;

}  // namespace

void operate(Call& call, std::int64_t rounds) {
  if (!is_atomic(call.shape.operation)) {
    transfer(call, rounds);
  } else if (call.shape.bytes == sizeof(int)) {
    Int::operate(call, rounds);
  } else {
    LongLong::operate(call, rounds);
  }
  call.done += static_cast<Word>(rounds);
}

Word operate_once(const Call& call, Word leaves, Word finds) {
  const Word mask = call.shape.bytes == sizeof(int) ? 0xffffffffU : ~Word{0};
  const Word old =
      call.shape.bytes == sizeof(int) ? Int::once(call, leaves, finds) : LongLong::once(call, leaves, finds);
  return old & mask;
}

}  // namespace shakedown::shmem
