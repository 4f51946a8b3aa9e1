// Large buffers: page size, NUMA placement, and a refusal in words instead of the kernel's out-of-memory killer.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "affinity.hpp"
#include "error.hpp"

namespace shakedown {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;  // x86-64, and aarch64 with 4 KiB base pages

/// base: no huge pages; huge: transparent ones, by madvise; hugetlb: from the pool that the administrator reserved.
enum class Pages { base, huge, hugetlb };

Pages parse_pages(const std::string& word);

/// Where the pages of a buffer go: where the thread that first writes them runs (no nodes), all to the nodes given, or
/// page by page in turn over them.
struct Placement {
  enum class Kind { local, bind, interleave } kind = Kind::local;
  std::vector<int> nodes;
};

/// The NUMA nodes that hold memory; {0} where the kernel tells of none.
std::vector<int> memory_nodes(const std::string& root = "");

// ------------------------------------------------------------------------------------------------------ what is free

/// How much memory this process can take before the kernel kills it, and what sets that.
struct MemoryRoom {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  std::string what = "unknown";
};

/// The least of MemAvailable, of what NUMA nodes with CPUs have free, and of the limits of the control groups, versions
/// 1 and 2. `root` is "" but in tests.
MemoryRoom memory_room(const std::string& root = "");

/// A size in binary prefixes for a message: "1.5 GiB".
std::string show_bytes(std::uint64_t bytes);

/// Throw "could not measure" where `bytes` more would not fit. Some is left for page tables and the rest of the
/// program.
void require_memory(std::uint64_t bytes, const std::string& what, const MemoryRoom& room = memory_room());

// ------------------------------------------------------------------------------------------------------------ buffers

/// Memory from mmap, zero until written, aligned to 2 MiB and between two guard pages (so that it is a mapping of its
/// own in /proc/self/smaps, and running past an end faults). Not touched here: who writes first decides the NUMA node.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t bytes, Pages pages, const Placement& placement = {});
  ~Buffer() { release(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Take no huge page for the last part of one: less memory than a whole one, some more entries of the TLB. For memory
  /// that must be little; before the first write.
  void trim() const;
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  void map_ordinary(Pages pages);
  void map_hugetlb();
  void set_policy(const Placement& placement);
  [[noreturn]] void refuse(const char* verb);
  void release() noexcept;
  void swap(Buffer& other) noexcept;
  static constexpr std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
  }

  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// ----------------------------------------------------------------------------------------------- what was really got

/// The pages that hold a buffer now.
struct PageReport {
  std::uint64_t resident_bytes = 0;
  std::uint64_t huge_bytes = 0;         // of these, in transparent huge pages
  std::uint64_t kernel_page_bytes = 0;  // the page size of the mapping: 4 KiB, or that of the hugetlb pool
  bool known = false;                   // false where /proc/self/smaps cannot be read

  /// "huge" where at least nine tenths are in huge pages, "base" where less than one tenth is, else "mixed".
  [[nodiscard]] std::string word() const;
};

/// Read /proc/self/smaps for the mapping that holds `address`. A buffer smaller than a huge page can have none.
PageReport page_report(const void* address);

/// The NUMA nodes on which up to 256 evenly spaced pages of a touched buffer lie, in order of the node; empty where the
/// kernel does not tell (move_pages without a target only asks).
std::vector<int> nodes_of(const Buffer& buffer);

}  // namespace shakedown
