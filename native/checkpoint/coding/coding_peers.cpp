// Ours beside ISA-L and memcpy, in turn on one thread, by that thread's own time; one JSON object of seconds. ISA-L
// gets our matrix, and its parity has to be ours.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "coding.hpp"
#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/error.hpp"
#include "common/json.hpp"
#include "common/memory.hpp"

namespace shakedown::coding {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

/// The functions of isa-l/erasure_code.h and crc.h that are used here.
struct IsaL {
  void (*init_tables)(int k, int rows, unsigned char* matrix, unsigned char* tables);
  void (*encode_data)(int bytes, int k, int rows, unsigned char* tables, unsigned char** data, unsigned char** parity);
  unsigned (*crc32_iscsi)(unsigned char* from, int bytes, unsigned before);
};

template <class Function>
void find(void* library, const char* name, Function*& to) {
  void* const address = dlsym(library, name);
  if (address == nullptr) throw cannot(std::string("libisal has no ") + name);
  std::memcpy(&to, &address, sizeof address);
}

IsaL open_isal(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) throw cannot("cannot load " + path, "install libisal2, or name the library by --isal");
  IsaL found{};
  find(library, "ec_init_tables", found.init_tables);
  find(library, "ec_encode_data", found.encode_data);
  find(library, "crc32_iscsi", found.crc32_iscsi);
  return found;
}

template <class Work>
double seconds(Work&& work) {
  const auto begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  work();
  return static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e-9;
}

/// Blocks of 1 MiB in one buffer, filled.
struct Blocks {
  Buffer buffer;
  std::vector<std::uint8_t*> at;
  explicit Blocks(std::size_t count) : buffer(count * kBlock, Pages::huge) {
    std::uint64_t draw = 88172645463325252;
    for (auto& word : buffer.as<std::uint64_t>()) {
      draw ^= draw << 13U, draw ^= draw >> 7U, draw ^= draw << 17U;
      word = draw;
    }
    at.reserve(count);
    for (std::size_t i = 0; i < count; ++i) at.push_back(buffer.as<std::uint8_t>().data() + i * kBlock);
  }
};

/// Encode one stripe, `times` in a sample: ours and ISA-L's in turn. Throws where they differ.
Object encoding(const IsaL& isal, int k, int m, std::int64_t rounds) {
  constexpr int kTimes = 4;
  const auto data_blocks = static_cast<std::size_t>(k), parity_blocks = static_cast<std::size_t>(m);
  const Blocks data(data_blocks), ours(parity_blocks), theirs(parity_blocks);
  std::vector<std::uint8_t> matrix, tables(32 * data_blocks * parity_blocks);
  matrix.reserve(data_blocks * parity_blocks);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < k; ++column) matrix.push_back(coefficient(k, row, column));
  }
  isal.init_tables(k, m, matrix.data(), tables.data());
  auto data_at = data.at, parity_at = theirs.at;  // ISA-L takes them without const
  std::vector<double> ours_s, theirs_s;
  for (std::int64_t round = 0; round < rounds; ++round) {
    ours_s.push_back(seconds([&] {
      for (int i = 0; i < kTimes; ++i) encode(k, m, data.at.data(), ours.at.data(), kBlock);
    }));
    theirs_s.push_back(seconds([&] {
      for (int i = 0; i < kTimes; ++i) {
        isal.encode_data(static_cast<int>(kBlock), k, m, tables.data(), data_at.data(), parity_at.data());
      }
    }));
  }
  if (std::memcmp(ours.buffer.data(), theirs.buffer.data(), parity_blocks * kBlock) != 0)
    throw Error(kCheckFailed, "our parity is not ISA-L's");
  return std::move(
      Object().add("bytes", kTimes * k * static_cast<double>(kBlock)).add("ours", ours_s).add("ISA-L", theirs_s));
}

/// Copy with checksum beside memcpy, a block after the other and the whole at once (which goes past the caches).
Object staging(std::int64_t rounds, std::int64_t mib) {
  const auto count = static_cast<std::size_t>(mib);
  const Blocks from(count), to(count);
  std::vector<double> ours_s, whole_s, blocks_s;
  std::uint32_t sum = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    ours_s.push_back(seconds([&] {
      for (std::size_t i = 0; i < count; ++i) sum ^= copy_crc32c(to.at[i], from.at[i], kBlock);
    }));
    whole_s.push_back(seconds([&] { std::memcpy(to.at.front(), from.at.front(), count * kBlock); }));
    blocks_s.push_back(seconds([&] {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(to.at[i], from.at[i], kBlock);
    }));
  }
  Object found;
  found.add("bytes", static_cast<double>(count * kBlock)).add("checksum", static_cast<double>(sum));
  found.add("ours", ours_s).add("memcpy", whole_s).add("memcpy by MiB", blocks_s);
  return found;
}

/// The checksum of 1 MiB, which stays in a cache.
Object checksums(const IsaL& isal, std::int64_t rounds) {
  constexpr int kTimes = 64;
  const Blocks block(1);
  std::vector<double> ours_s, theirs_s;
  std::uint32_t ours = 0, theirs = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    ours_s.push_back(seconds([&] {
      for (int i = 0; i < kTimes; ++i) ours = crc32c(block.at[0], kBlock, ours);
    }));
    theirs_s.push_back(seconds([&] {
      for (int i = 0; i < kTimes; ++i) theirs = ~isal.crc32_iscsi(block.at[0], static_cast<int>(kBlock), ~theirs);
    }));
  }
  if (ours != theirs) throw Error(kCheckFailed, "our checksum is not ISA-L's");
  return std::move(
      Object().add("bytes", kTimes * static_cast<double>(kBlock)).add("ours", ours_s).add("ISA-L", theirs_s));
}

int run(int argc, char** argv) {
  Args args(argc, argv, "coding_peers: our checksums, staging and Reed-Solomon parity beside memcpy and ISA-L.");
  const auto rounds = args.integer("rounds", 30, 1, "times that each is run");
  const auto mib = args.integer("mib", 256, 1, "MiB that are staged");
  const auto path = args.text("isal", "", "ISA-L's library; empty: staging alone, beside memcpy");
  args.finish();
  Object found;
  found.add("checksum_isa", checksum_isa()).add("field_isa", field_isa());
  if (path.empty()) {
    found.add("staging", staging(rounds, mib));
  } else {
    const auto isal = open_isal(path);
    found.add("checksum", checksums(isal, rounds));
    constexpr struct {
      int k, m;
    } kCodes[] = {{4, 1}, {4, 2}, {4, 4}, {6, 2}, {6, 3}, {8, 2}, {8, 4}, {8, 6}, {8, 8}, {14, 2}};
    for (const auto [k, m] : kCodes) {
      found.add(std::to_string(k) + "+" + std::to_string(m), encoding(isal, k, m, rounds));
    }
  }
  std::printf("%s\n", to_json(found).c_str());
  return kOk;
}

}  // namespace
}  // namespace shakedown::coding

int main(int argc, char** argv) { return shakedown::run_main("coding_peers", argc, argv, shakedown::coding::run); }
