// What is written: random bytes, each a function of its place (file, generation, offset), whatever the size of the
// transfer that brings it. No file system can compress them, or store two pages of them once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace shakedown::storage {

inline constexpr std::size_t kPageBytes = 4096;
/// Pages after which the random bytes come again, a prime: what lies at the wrong place is off by other than a
/// multiple. About 4 MiB, above what file systems compress at a time.
inline constexpr std::size_t kPoolPages = 1021;
/// The same with several transfers in flight, each of which has a pool of its own; and in memory, where nothing is
/// compressed and the pool should stay in the cache, as other programs' only buffer does.
inline constexpr std::size_t kPoolPagesInFlight = 251;
inline constexpr std::size_t kPoolPagesInMemory = 13;

/// Where a byte belongs.
struct Spot {
  std::uint64_t file = 0;
  std::uint64_t generation = 0;  // the how-manyth time that the file is written
  std::uint64_t offset = 0;
};

/// Each page of a file begins with it.
struct Stamp {
  std::uint64_t file = 0;
  std::uint64_t generation = 0;
  std::uint64_t page = 0;
};

/// Memory on a page's edge, as O_DIRECT wants it.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_((bytes + kPageBytes - 1) / kPageBytes * kPageBytes),
        data_(static_cast<std::uint8_t*>(std::aligned_alloc(kPageBytes, bytes_))) {
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes_);
  }
  [[nodiscard]] std::span<std::uint8_t> all() const { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::uint8_t* data) const { std::free(data); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::uint8_t, Free> data_;
};

/// splitmix64's step.
inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// A pool of random bytes that files are slices of: the byte at offset x of a file is that at x, shifted by file and
/// generation, round and round; but for the stamps. Writing copies nothing. `at` writes stamps into the pool: one
/// thread at a time, and until a transfer has ended no other.
class Content {
 public:
  /// For transfers of at most `longest` bytes. All that write and read a file must have as many pages.
  explicit Content(std::size_t longest, std::size_t pool_pages = kPoolPages)
      : around_(pool_pages * kPageBytes), pool_(around_ + longest + 2 * kPageBytes) {
    const auto all = pool_.all();
    std::uint64_t state = 0;
    for (std::size_t at = 0; at < all.size(); at += 8) {
      if (at % around_ == 0) state = 0;
      const std::uint64_t word = mixed(state += 0x9e3779b97f4a7c15);
      std::memcpy(all.data() + at, &word, 8);
    }
  }

  /// What belongs at a place, in one piece.
  std::span<const std::uint8_t> at(const Spot& place, std::size_t bytes) {
    const std::size_t into = place.offset % kPageBytes;
    const auto found = source(place, bytes);
    std::uint8_t* page = found.data() - into;
    Stamp stamp{place.file, place.generation, place.offset / kPageBytes};
    for (std::size_t done = 0; done < into + bytes; done += kPageBytes, ++stamp.page)
      std::memcpy(page + done, &stamp, sizeof stamp);
    return found;
  }

  /// How many pages, or parts of them, of `data` are not what belongs there.
  [[nodiscard]] std::int64_t wrong(std::span<const std::uint8_t> data, const Spot& place) const {
    std::int64_t count = 0;
    for (std::size_t done = 0; done < data.size();) {
      const Spot here{place.file, place.generation, place.offset + done};
      const std::size_t bytes = std::min(data.size() - done, kPageBytes - here.offset % kPageBytes);
      count += right(data.subspan(done, bytes), here) ? 0 : 1;
      done += bytes;
    }
    return count;
  }

  /// Whether the first bytes of `data` are right: costs nothing beside reading them.
  [[nodiscard]] bool begins_right(std::span<const std::uint8_t> data, const Spot& place) const {
    const std::size_t left = kPageBytes - place.offset % kPageBytes;
    return right(data.first(std::min({data.size(), left, std::size_t{64}})), place);
  }

 private:
  [[nodiscard]] std::span<std::uint8_t> source(const Spot& place, std::size_t bytes) const {
    const std::uint64_t shift = mixed(place.file) % (around_ / kPageBytes) + 7 * place.generation;
    return pool_.all().subspan((place.offset + shift * kPageBytes) % around_, bytes);
  }

  /// Whether bytes of one page are right.
  [[nodiscard]] bool right(std::span<const std::uint8_t> data, const Spot& place) const {
    const std::size_t into = place.offset % kPageBytes;
    const auto expected = source(place, data.size());
    std::size_t stamped = 0;
    if (into < sizeof(Stamp)) {
      const Stamp stamp{place.file, place.generation, place.offset / kPageBytes};
      std::array<std::uint8_t, sizeof stamp> bytes{};
      std::memcpy(bytes.data(), &stamp, sizeof stamp);
      stamped = std::min(sizeof stamp - into, data.size());
      if (std::memcmp(data.data(), bytes.data() + into, stamped) != 0) return false;
    }
    return std::memcmp(data.data() + stamped, expected.data() + stamped, data.size() - stamped) == 0;
  }

  std::size_t around_;
  Pages pool_;
};

}  // namespace shakedown::storage
