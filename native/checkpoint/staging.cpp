#include "staging.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "coding/coding.hpp"
#include "device.hpp"

namespace shakedown::checkpoint {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

/// Elements of each part begin at a multiple of this, so that whoever maps the file can use them in place.
constexpr std::uint64_t kAlignment = 64;

Outcome of_part(const Protected& part, const Outcome& outcome) {
  return failed(outcome.error, "'" + part.name + "': " + outcome.words);
}

}  // namespace

std::shared_ptr<Buffer> Buffer::of(std::uint64_t bytes, bool touched) {
  const std::uint64_t page = bytes < kHugePage ? kPage : kHugePage;
  const std::uint64_t whole = std::max<std::uint64_t>(1, (bytes + page - 1) / page) * page;
  void* memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (bytes >= kHugePage) ::madvise(memory, whole, MADV_HUGEPAGE);  // a hint: pages of 4 KiB serve as well
  auto* data = static_cast<std::uint8_t*>(memory);
  for (std::uint64_t at = 0; touched && at < bytes; at += kPage) data[at] = 0;
  return over(data, whole);
}

std::shared_ptr<Buffer> Buffer::over(std::uint8_t* mapped, std::uint64_t bytes) {
  return std::shared_ptr<Buffer>(new Buffer(mapped, bytes));
}

Buffer::~Buffer() { ::munmap(data_, bytes_); }

std::vector<Region> layout(const std::vector<Protected>& parts, std::uint64_t& bytes) {
  std::vector<Region> regions;
  regions.reserve(parts.size());
  bytes = 0;
  for (const Protected& part : parts) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    regions.push_back({part.name, part.type, part.box, bytes, bytes_of(part)});
    bytes += regions.back().bytes;
  }
  return regions;
}

Outcome stage(const std::vector<Protected>& parts, std::uint8_t* into, std::uint64_t bytes,
              std::vector<std::uint32_t>& checksums) {
  checksums.assign(blocks_of(bytes), 0);
  std::uint64_t at = 0;
  const auto add = [&](const std::uint8_t* from, std::uint64_t length) {
    while (length > 0) {
      const std::uint64_t block = at / kBlockBytes;
      const std::uint64_t take = std::min(length, (block + 1) * kBlockBytes - at);
      checksums[block] = coding::copy_crc32c(into + at, from, take, checksums[block]);
      at += take;
      from += take;
      length -= take;
    }
  };
  static constexpr std::uint8_t kGap[kAlignment] = {};
  for (const Protected& part : parts) {
    add(kGap, (kAlignment - at % kAlignment) % kAlignment);
    std::shared_ptr<Device> device;
    Outcome read = device_of(part.pointer, device);
    if (device != nullptr) {
      read = read_runs(*device, part, add);
    } else if (read.good()) {
      for_each_run(part, add);
    }
    if (!read.good()) return of_part(part, read);
  }
  return {};
}

Outcome unstage(const Protected& part, const std::uint8_t* from) {
  const auto fill = [&](std::uint8_t* run, std::uint64_t length) {
    std::memcpy(run, from, length);
    from += length;
  };
  std::shared_ptr<Device> device;
  Outcome written = device_of(part.pointer, device);
  if (device != nullptr) {
    written = write_runs(*device, part, fill);
  } else if (written.good()) {
    for_each_run(part, fill);
  }
  return written.good() ? written : of_part(part, written);
}

}  // namespace shakedown::checkpoint
