// A GPU's driver for tests of checkpoints: CUDA's functions, or HIP's (FAKE_HIP_RUNTIME), over memory that the
// processor cannot touch at the address that the program sees. Copies are made when a stream is waited for, not before;
// each call but the first questions wants the right context or device to be current.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace {

struct Piece {
  std::uint8_t* seen = nullptr;  // what the program holds: no access
  std::uint8_t* real = nullptr;
  std::uint64_t bytes = 0;
  int device = 0;
};
struct Copy {
  void* to;
  const void* from;
  std::uint64_t bytes;
};
std::vector<Piece> pieces;
std::map<void*, std::vector<Copy>> streams;
// Devices, the innermost last. HIP begins with the first of them.
#ifdef FAKE_HIP_RUNTIME
std::vector<int> current = {0};
#else
std::vector<int> current;
#endif
long copies_left = -1;
long pinned = 0;

const Piece* piece_of(const void* pointer) {
  const auto* at = static_cast<const std::uint8_t*>(pointer);
  for (const Piece& one : pieces) {
    if (at >= one.seen && at < one.seen + one.bytes) return &one;
  }
  return nullptr;
}

void* reachable(const void* pointer) {
  const Piece* piece = piece_of(pointer);
  if (piece == nullptr) return const_cast<void*>(pointer);
  return piece->real + (static_cast<const std::uint8_t*>(pointer) - piece->seen);
}

int begin_copy(void* to, const void* from, std::uint64_t bytes, void* stream) {
  const Piece* piece = piece_of(to) != nullptr ? piece_of(to) : piece_of(from);
  if (piece == nullptr || current.empty() || current.back() != piece->device) return 1;
  if (copies_left == 0) return 719;
  if (copies_left > 0) --copies_left;
  streams[stream].push_back({to, from, bytes});
  return 0;
}

int do_copies(void* stream) {
  for (const Copy& one : streams[stream]) std::memcpy(reachable(one.to), reachable(one.from), one.bytes);
  streams[stream].clear();
  return 0;
}

int make_stream(void** stream) {
  *stream = ::operator new(1);
  streams[*stream];
  return 0;
}
int drop_stream(void* stream) {
  if (streams.erase(stream) != 1) return 1;
  ::operator delete(stream);
  return 0;
}

int pin(void** memory, std::size_t bytes) {
  *memory = ::operator new(bytes);
  ++pinned;
  return 0;
}
int unpin(void* memory) {
  ::operator delete(memory);
  --pinned;
  return 0;
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

/// `bytes` of memory of a device, and the same memory where it can be looked at.
void* fake_device_memory(std::uint64_t bytes, int device, std::uint8_t** real) {
  const int file = ::memfd_create("device", 0);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  auto* seen = static_cast<std::uint8_t*>(::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0));
  *real = static_cast<std::uint8_t*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ::close(file);
  pieces.push_back({seen, *real, bytes, device});
  return seen;
}
/// So many copies succeed from now on; below 0 all.
void fake_device_copies(long left) { copies_left = left; }
/// What was made and not given back: streams, page-locked memory; and the device that is current, -1 where none is.
long fake_device_held() { return static_cast<long>(streams.size()) + pinned; }
int fake_device_current() { return current.empty() ? -1 : current.back(); }

#ifdef FAKE_HIP_RUNTIME
int hipRuntimeGetVersion(int* version) { return *version = 60'140'093, 0; }
int hipPointerGetAttribute(void* data, int which, void* pointer) {
  const Piece* piece = piece_of(pointer);
  if (piece == nullptr) return 1;
  *static_cast<int*>(data) = which == 2 ? 2 : piece->device;
  return which == 2 || which == 9 ? 0 : 1;
}
int hipGetDevice(int* device) { return *device = current.back(), 0; }
int hipSetDevice(int device) { return current.assign(1, device), 0; }
int hipDeviceSynchronize() { return 0; }
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return kind == 4 ? begin_copy(to, from, bytes, stream) : 1;
}
int hipStreamCreateWithFlags(void** stream, unsigned) { return make_stream(stream); }
int hipStreamDestroy(void* stream) { return drop_stream(stream); }
int hipStreamSynchronize(void* stream) { return do_copies(stream); }
int hipHostMalloc(void** memory, std::size_t bytes, unsigned) { return pin(memory, bytes); }
int hipHostFree(void* memory) { return unpin(memory); }
#else
char contexts[8];  // a device's context is its place in here

int cuPointerGetAttribute(void* data, int which, void* pointer) {
  if (current.empty()) return 201;
  const Piece* piece = piece_of(pointer);
  if (piece == nullptr) return 1;
  // The second device has its memory from a pool, which is of no context.
  if (which == 1) *static_cast<void**>(data) = piece->device == 1 ? nullptr : &contexts[piece->device];
  if (which == 2) *static_cast<unsigned*>(data) = 2;
  if (which == 9) *static_cast<int*>(data) = piece->device;
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  current.push_back(static_cast<int>(static_cast<char*>(context) - contexts));
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return 201;
  *context = &contexts[current.back()];
  current.pop_back();
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = &contexts[device], 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSynchronize() { return current.empty() ? 201 : 0; }
int cuMemcpyAsync(void* to, const void* from, std::size_t bytes, void* stream) {
  return begin_copy(to, from, bytes, stream);
}
int cuStreamCreate(void** stream, unsigned) { return current.empty() ? 201 : make_stream(stream); }
int cuStreamDestroy_v2(void* stream) { return drop_stream(stream); }
int cuStreamSynchronize(void* stream) { return do_copies(stream); }
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return pin(memory, bytes); }
int cuMemFreeHost(void* memory) { return unpin(memory); }
#endif
}
