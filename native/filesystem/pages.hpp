// What is written: pages of random bytes, each with a stamp of where it belongs, so that no file system can compress
// them or store them once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace shakedown::filesystem {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kPoolBytes = std::size_t{4} << 20;  // above what file systems compress at a time

/// Where a page belongs. Each page begins with it.
struct Stamp {
  std::uint64_t file = 0;
  std::uint64_t version = 0;
  std::uint64_t page = 0;
};

/// Memory on a page's edge, as O_DIRECT wants it.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : data_(static_cast<std::uint8_t*>(std::aligned_alloc(kPageBytes, bytes))), bytes_(bytes) {
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes);
  }
  [[nodiscard]] std::span<std::uint8_t> all() const { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::uint8_t* data) const { std::free(data); }
  };
  std::unique_ptr<std::uint8_t, Free> data_;
  std::size_t bytes_;
};

/// A pool of random bytes (splitmix64) that blocks are taken from in turn. For one thread: stamps are written into it.
class Content {
 public:
  /// For blocks of `block` bytes, whole pages; the pool is as many blocks as `pool_bytes` need, at least one.
  Content(std::uint64_t seed, std::size_t block, std::size_t pool_bytes = kPoolBytes)
      : pool_(block * std::max<std::size_t>(1, (pool_bytes + block - 1) / block)) {
    std::uint64_t state = seed;
    const auto all = pool_.all();
    for (std::size_t at = 0; at < all.size(); at += 8) {
      std::uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      z ^= z >> 31;
      std::memcpy(all.data() + at, &z, 8);
    }
  }

  /// The block whose first page is `at`, a multiple of the block.
  std::span<const std::uint8_t> block(Stamp at, std::size_t bytes) {
    const auto found = source(at, bytes);
    for (std::size_t done = 0; done < bytes; done += kPageBytes, ++at.page)
      std::memcpy(found.data() + done, &at, sizeof at);
    return found;
  }

  /// How many pages of `data`, a block or the beginning of one, are not what was written there.
  [[nodiscard]] std::int64_t wrong(std::span<const std::uint8_t> data, Stamp at) const {
    const auto expected = source(at, data.size());
    std::int64_t count = 0;
    for (std::size_t done = 0; done < data.size(); done += kPageBytes, ++at.page) {
      const bool right =
          std::memcmp(data.data() + done, &at, sizeof at) == 0 &&
          std::memcmp(data.data() + done + sizeof at, expected.data() + done + sizeof at, kPageBytes - sizeof at) == 0;
      count += right ? 0 : 1;
    }
    return count;
  }

  /// Whether `data` begins with the page that belongs there, by its stamp.
  static bool stamped(std::span<const std::uint8_t> data, const Stamp& at) {
    return data.size() >= sizeof at && std::memcmp(data.data(), &at, sizeof at) == 0;
  }

 private:
  [[nodiscard]] std::span<std::uint8_t> source(const Stamp& at, std::size_t bytes) const {
    return pool_.all().subspan(static_cast<std::size_t>(at.page) * kPageBytes % pool_.all().size(), bytes);
  }

  Pages pool_;
};

}  // namespace shakedown::filesystem
