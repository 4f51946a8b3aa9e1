// Runs CUDA kernels on this host, from their own source: a .cu file is compiled as C++ with the words below, and a
// launch goes through the blocks of its grid. The threads of a block are fibers that take turns, each up to its next
// barrier, once in ascending and once in descending order, so that a barrier that is missing shows as a wrong result.
// The blocks of a cooperative launch are threads of the host at the same time, as those of a device are: what they tell
// each other through memory is seen by the thread sanitizer. It is the reference of the tests and the host backend; it
// is slow.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/host.hpp"
#include "gpu/meanwhile.hpp"

// swapcontext calls the kernel each time; a jump does not, but sanitizers and fortified libraries look at jumps.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(_FORTIFY_SOURCE)
#include <csetjmp>
#define SHAKEDOWN_FIBER_JUMPS
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
// To the thread sanitizer all fibers of a block are the one thread that runs them: turns are in order, so that what
// differs between blocks is all that it could see, and a fiber of its own (__tsan_create_fiber) costs a millisecond.
// It keeps a stack of calls, to which a function that is never returned from must not add. Within a kernel the calls of
// several fibers are mixed up there: of a race that is reported believe the lines, not who called them.
#if defined(__SANITIZE_THREAD__)
#define SHAKEDOWN_NO_CALL __attribute__((no_sanitize("thread")))
#else
#define SHAKEDOWN_NO_CALL
#endif

namespace shakedown {

struct Dim {
  unsigned x = 0, y = 0, z = 0;
};
inline thread_local Dim threadIdx, blockIdx, blockDim, gridDim;

namespace gpu::emulate {

inline constexpr unsigned kWarp = 32;
inline constexpr std::size_t kStack = std::size_t{64} << 10;

/// One turn of execution: a stack of its own, or the thread that runs the block.
class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void prepare(void (*entry)(), ucontext_t* after) {
    stack_ = std::unique_ptr<char[]>(new char[kStack]);
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStack;
    context_.uc_link = after;
    makecontext(&context_, entry, 0);
  }

  /// This is the stack of the thread itself.
  void is_running() {
#if defined(SHAKEDOWN_FIBER_JUMPS)
    started_ = true;
#endif
  }
  /// Go on with `other`; returns when somebody goes on with this one.
  SHAKEDOWN_NO_CALL void go_to(Turn& other, [[maybe_unused]] bool ends = false) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake_, other.bottom(), other.size());
#endif
#if defined(SHAKEDOWN_FIBER_JUMPS)
    if (_setjmp(place_) != 0) return;
    if (other.started_) _longjmp(other.place_, 1);
    other.started_ = true;
    setcontext(&other.context_);
#else
    swapcontext(&context_, &other.context_);
#endif
    arrived();
  }
  /// To be called first on a new stack.
  void arrived() {
#if defined(__SANITIZE_ADDRESS__)
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake_, &bottom, &size);
    if (before != nullptr && before->stack_ == nullptr) before->remember(bottom, size);
#endif
  }
  ucontext_t* context() { return &context_; }
  Turn* before = nullptr;  // who goes on with this one

 private:
#if defined(__SANITIZE_ADDRESS__)
  [[nodiscard]] const void* bottom() const { return stack_ != nullptr ? stack_.get() : bottom_; }
  [[nodiscard]] std::size_t size() const { return stack_ != nullptr ? kStack : size_; }
  void remember(const void* bottom, std::size_t size) {
    bottom_ = bottom;
    size_ = size;
  }
  void* fake_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#endif
#if defined(SHAKEDOWN_FIBER_JUMPS)
  std::jmp_buf place_{};
  bool started_ = false;  // a new stack begins with its context, and is jumped to from then on
#endif
  ucontext_t context_{};
  std::unique_ptr<char[]> stack_;
};

/// The threads of one block.
class Block {
 public:
  static inline thread_local Block* current = nullptr;

  Block(unsigned threads, unsigned shared_bytes)
      : fibers_(threads), done_(threads), warps_((threads + kWarp - 1) / kWarp), shared_((shared_bytes + 7) / 8) {
    current = this;
    scheduler_.is_running();
    for (auto& fiber : fibers_) {
      fiber.before = &scheduler_;
      fiber.prepare(&Block::enter, scheduler_.context());
    }
  }
  ~Block() { current = nullptr; }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void run(const std::function<void()>& body) {
    body_ = &body;
    whole_ = {};
    whole_.alive = static_cast<unsigned>(fibers_.size());
    for (unsigned w = 0; w < warps_.size(); ++w) {
      warps_[w] = {};
      warps_[w].meeting.alive = std::min(kWarp, static_cast<unsigned>(fibers_.size()) - w * kWarp);
    }
    std::fill(done_.begin(), done_.end(), false);
    for (bool up = true; whole_.alive > 0; up = !up) {
      for (unsigned i = 0; i < fibers_.size(); ++i) {
        const unsigned t = up ? i : static_cast<unsigned>(fibers_.size()) - 1 - i;
        if (done_[t]) continue;
        threadIdx.x = t;
        scheduler_.go_to(fibers_[t]);
      }
    }
  }

  void sync() { meet(whole_); }
  void sync_warp() { meet(warp().meeting); }
  /// Give way to the other threads of this block and of other blocks.
  void pause() {
    yield();
    std::this_thread::yield();
  }
  template <class T>
  T shuffle(T value, unsigned from) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    Warp& mine = warp();
    std::memcpy(&mine.slots[threadIdx.x % kWarp], &value, sizeof value);
    sync_warp();
    T result;
    std::memcpy(&result, &mine.slots[from % kWarp], sizeof result);
    sync_warp();
    return result;
  }
  unsigned ballot(bool vote) {
    Warp& mine = warp();
    mine.slots[threadIdx.x % kWarp] = vote ? 1 : 0;
    sync_warp();
    unsigned votes = 0;
    for (unsigned lane = 0; lane < kWarp; ++lane) votes |= static_cast<unsigned>(mine.slots[lane] & 1) << lane;
    sync_warp();
    return votes;
  }
  void* shared() { return shared_.data(); }

 private:
  struct Meeting {
    unsigned alive = 0, arrived = 0, round = 0;
    void open_if_all() {
      if (alive == 0 || arrived < alive) return;
      arrived = 0;
      ++round;
    }
  };
  struct Warp {
    Meeting meeting;
    std::uint64_t slots[kWarp] = {};
  };

  SHAKEDOWN_NO_CALL static void enter() {
    Block& block = *current;
    block.fibers_[threadIdx.x].arrived();
    for (;;) {
      const unsigned me = threadIdx.x;
      (*block.body_)();
      block.done_[me] = true;
      for (Meeting* meeting : {&block.whole_, &block.warps_[me / kWarp].meeting}) {
        --meeting->alive;
        meeting->open_if_all();
      }
      block.fibers_[me].go_to(block.scheduler_);
    }
  }
  void yield() {
    const unsigned me = threadIdx.x;
    fibers_[me].go_to(scheduler_);
    threadIdx.x = me;
  }
  void meet(Meeting& meeting) {
    const unsigned round = meeting.round;
    ++meeting.arrived;
    meeting.open_if_all();
    while (meeting.round == round) yield();
  }
  Warp& warp() { return warps_[threadIdx.x / kWarp]; }

  Turn scheduler_;
  std::vector<Turn> fibers_;
  std::vector<bool> done_;
  std::vector<Warp> warps_;
  std::vector<std::uint64_t> shared_;
  Meeting whole_;
  const std::function<void()>* body_ = nullptr;
};

/// The block of the thread that calls; a kernel that was said to need no barriers has none.
inline Block& block() {
  if (Block::current == nullptr) {
    std::fprintf(stderr, "emulate: a barrier in a kernel that is registered as plain\n");
    std::abort();
  }
  return *Block::current;
}

/// Blocks [begin, end) of the grid, one after another on this thread.
template <class Body>
void run_blocks(const gpu::Grid& grid, std::size_t begin, std::size_t end, bool barriers, const Body& body) {
  blockDim = {grid.threads, 1, 1};
  gridDim = {grid.blocks, grid.blocks_y, 1};
  std::unique_ptr<Block> fibers;
  const std::function<void()> call = body;
  if (barriers) fibers = std::make_unique<Block>(grid.threads, grid.shared_bytes);
  for (std::size_t b = begin; b < end; ++b) {
    blockIdx = {static_cast<unsigned>(b % grid.blocks), static_cast<unsigned>(b / grid.blocks), 0};
    if (fibers != nullptr) {
      fibers->run(call);
      continue;
    }
    for (unsigned t = 0; t < grid.threads; ++t) {
      threadIdx = {t, 0, 0};
      body();
    }
  }
}

/// What a kernel does: nothing that threads wait for (plain), barriers, shuffles or dynamic shared memory (barriers),
/// or that and waiting for other blocks, which must then run at the same time (together).
enum class Kind { plain, barriers, together };

template <class Body>
void launch(const gpu::Grid& grid, Kind kind, const Body& body) {
  const std::size_t blocks = static_cast<std::size_t>(grid.blocks) * grid.blocks_y;
  const bool barriers = kind != Kind::plain;
  if (kind != Kind::together) {
    gpu::parallel(
        blocks, [&](std::size_t begin, std::size_t end) { run_blocks(grid, begin, end, barriers, body); }, 16);
    return;
  }
  std::atomic<std::size_t> left{blocks};
  std::vector<std::thread> threads;
  for (std::size_t b = 0; b < blocks; ++b) {
    threads.emplace_back([&, b] {
      run_blocks(grid, b, b + 1, barriers, body);
      left.fetch_sub(1, std::memory_order_acq_rel);
    });
  }
  while (meanwhile != nullptr && left.load(std::memory_order_acquire) > 0) {
    (*meanwhile)();
    std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
}

template <auto Kernel, Kind kKind>
struct Emulated;
template <class... A, void (*Kernel)(A...), Kind kKind>
struct Emulated<Kernel, kKind> {
  static void run(const gpu::Grid& grid, A... arguments) {
    launch(grid, kKind, [=] { Kernel(arguments...); });
  }
};

/// An entry of a module's host table.
template <auto Kernel, Kind kKind>
constexpr gpu::HostKernel kernel(const char* name) {
  return gpu::host_kernel<&Emulated<Kernel, kKind>::run>(name);
}

}  // namespace gpu::emulate

// The words of CUDA that kernels use, in a namespace that all of them are in.
// NOLINTBEGIN(bugprone-reserved-identifier): they are CUDA's
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static thread_local
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define GPU_DYNAMIC_SHARED(type, name) auto* name = static_cast<type*>(gpu::emulate::block().shared())
#define GPU_UNROLL(count)

inline void __syncthreads() { gpu::emulate::block().sync(); }
inline void __syncwarp() { gpu::emulate::block().sync_warp(); }
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return gpu::emulate::block().shuffle(value, static_cast<unsigned>(from));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return gpu::emulate::block().shuffle(value, (threadIdx.x % gpu::emulate::kWarp) ^ static_cast<unsigned>(mask));
}
inline unsigned __ballot_sync(unsigned, bool vote) { return gpu::emulate::block().ballot(vote); }
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned away) {
  const unsigned lane = threadIdx.x % gpu::emulate::kWarp;
  return gpu::emulate::block().shuffle(value, lane >= away ? lane - away : lane);
}
inline unsigned warp_max(unsigned value) {
  for (unsigned away = gpu::emulate::kWarp / 2; away > 0; away /= 2)
    value = std::max(value, gpu::emulate::block().shuffle(value, (threadIdx.x % gpu::emulate::kWarp) ^ away));
  return value;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline unsigned __float_as_uint(float value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// NOLINTEND(bugprone-reserved-identifier)

/// Atomic operations return what was there before, and order nothing else.
inline unsigned atomicAdd(unsigned* at, unsigned value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
inline unsigned atomicMax(unsigned* at, unsigned value) {
  unsigned before = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (before < value && !__atomic_compare_exchange_n(at, &before, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}

using std::fma;

inline void spin() { gpu::emulate::block().pause(); }
/// Words by which blocks, and the device and the host, tell each other that something is there.
inline std::uint64_t load_acquire(const std::uint64_t* from, bool) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
inline std::uint64_t load_relaxed(const std::uint64_t* from, bool) { return __atomic_load_n(from, __ATOMIC_RELAXED); }
inline void store_release(std::uint64_t* to, std::uint64_t value, bool) {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}
inline void add_release(std::uint64_t* to, std::uint64_t value) { __atomic_fetch_add(to, value, __ATOMIC_ACQ_REL); }
template <class T>
T load_fresh(const T* from) {
  return *from;
}

/// About as good as a device's: what follows it must refine it.
inline float reciprocal_estimate(float x) {
  unsigned bits = __float_as_uint(1 / x);
  return __uint_as_float(bits & ~1u);
}
inline double reciprocal_estimate(double x) {
  const double exact = 1 / x;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &exact, sizeof bits);
  bits &= ~std::uint64_t{0xffffffff};
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace shakedown
