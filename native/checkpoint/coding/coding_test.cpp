// Checksums and parity against their definitions, for every instruction set that runs here.
#include "coding.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "field.hpp"
#include "loops.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::coding {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::mt19937_64& draws() {
  static std::mt19937_64 engine(20261123);
  return engine;
}

std::size_t draw(std::size_t below) { return static_cast<std::size_t>(draws()() % below); }

Bytes random_bytes(std::size_t count) {
  Bytes out(count);
  for (auto& byte : out) byte = static_cast<std::uint8_t>(draws()());
  return out;
}

// --------------------------------------------------------------------------------------- what the definitions give

/// Multiply as polynomials, then divide: not the way of field_product.
std::uint8_t product(unsigned a, unsigned b) {
  unsigned wide = 0;
  for (unsigned bit = 0; bit < 8; ++bit) wide ^= ((b >> bit) & 1U) * (a << bit);
  for (unsigned degree = 14; degree >= 8; --degree) {
    if (((wide >> degree) & 1U) != 0) wide ^= 0x11dU << (degree - 8);
  }
  return static_cast<std::uint8_t>(wide);
}

/// CRC-32C bit by bit.
std::uint32_t checksum_of(const std::uint8_t* from, std::size_t bytes) {
  std::uint32_t state = ~0U;
  for (std::size_t i = 0; i < bytes; ++i) {
    state ^= from[i];
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1U) ^ ((state & 1U) * 0x82f63b78U);
  }
  return ~state;
}

/// Column `column` of the parity by its formula, without the library: 1 / ((k + row) xor column), over that of row 0.
std::uint8_t expected_coefficient(int k, int row, int column) {
  const auto at = [&](int parity) {
    const auto sum = static_cast<unsigned>((k + parity) ^ column);
    unsigned inverse = 1;
    while (product(sum, inverse) != 1) ++inverse;
    return inverse;
  };
  unsigned first = 1;
  while (product(at(0), first) != 1) ++first;
  return product(at(row), first);
}

// ------------------------------------------------------------------------------------------------------- checksums

void test_vectors(Checks& checks) {
  Bytes up(32), down(32);
  std::iota(up.begin(), up.end(), std::uint8_t{0});
  std::reverse_copy(up.begin(), up.end(), down.begin());
  const Bytes read_command = {0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                              0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                              0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
  const std::string digits = "123456789";
  // RFC 3720, section B.4; the last is the check value of the catalogue of parametrised CRC algorithms.
  const struct {
    Bytes block;
    std::uint32_t expected;
  } vectors[] = {{Bytes(32, 0), 0x8a9136aa},
                 {Bytes(32, 0xff), 0x62a8ab43},
                 {up, 0x46dd794e},
                 {down, 0x113fdb5c},
                 {read_command, 0xd9963a56},
                 {Bytes(digits.begin(), digits.end()), 0xe3069283},
                 {Bytes(), 0}};
  for (const auto& vector : vectors) {
    checks.equal(crc32c(vector.block.data(), vector.block.size()), vector.expected, "a known CRC-32C");
    checks.equal(checksum_of(vector.block.data(), vector.block.size()), vector.expected, "the test's own CRC-32C");
  }
}

/// Checksum and copy of `bytes` at these places of a page, with what lies around untouched.
void compare_checksum(Checks& checks, const ChecksumLoops& loops, std::size_t bytes, std::size_t from_at,
                      std::size_t to_at) {
  constexpr std::size_t kAround = 64;
  const Bytes from = random_bytes(from_at + bytes);
  Bytes to(to_at + bytes + kAround, 0xa5);
  const std::uint8_t* const source = from.data() + from_at;
  const auto expected = checksum_of(source, bytes);
  const std::string where = std::string(loops.name) + ", " + std::to_string(bytes) + " bytes, from " +
                            std::to_string(from_at) + " to " + std::to_string(to_at);
  checks.equal(~loops.checksum(~0U, source, bytes), expected, "checksum, " + where);
  checks.equal(~loops.copy(~0U, to.data() + to_at, source, bytes), expected, "copy's checksum, " + where);
  const auto begin = to.begin() + static_cast<std::ptrdiff_t>(to_at), end = begin + static_cast<std::ptrdiff_t>(bytes);
  checks.that(std::equal(begin, end, source), "copy, " + where);
  const auto untouched = [](std::uint8_t byte) { return byte == 0xa5; };
  checks.that(std::all_of(to.begin(), begin, untouched) && std::all_of(end, to.end(), untouched), "around, " + where);
  const std::size_t cut = bytes == 0 ? 0 : draw(bytes + 1);
  const auto first = ~loops.checksum(~0U, source, cut);
  checks.equal(~loops.checksum(~first, source + cut, bytes - cut), expected, "in two parts, " + where);
  checks.equal(join_crc32c(first, ~loops.checksum(~0U, source + cut, bytes - cut), bytes - cut), expected,
               "joined, " + where);
}

void test_checksums(Checks& checks) {
  for (const auto* loops : checksum_loops()) {
    for (std::size_t bytes = 0; bytes < 300; ++bytes) compare_checksum(checks, *loops, bytes, draw(64), draw(64));
    for (const std::size_t near : {1024U, 4096U, 8192U, 12288U, 65536U, 262144U}) {
      for (const std::size_t off : {0U, 1U, 63U}) {
        compare_checksum(checks, *loops, near - off, draw(64), draw(64));
        compare_checksum(checks, *loops, near + off, 0, 0);
      }
    }
    for (int round = 0; round < (kSanitized ? 20 : 200); ++round) {
      compare_checksum(checks, *loops, draw(50'000), draw(64), draw(64));
    }
  }
  // 2^33 bytes of zeros, joined by doubling: as by one step.
  std::uint32_t doubled = checksum_of(Bytes(1).data(), 1);
  for (std::uint64_t bytes = 1; bytes < (std::uint64_t{1} << 33U); bytes *= 2)
    doubled = join_crc32c(doubled, doubled, bytes);
  const std::uint32_t whole = join_crc32c(doubled, 0, 0);
  checks.equal(whole, doubled, "nothing joined");
  Bytes megabyte(std::size_t{1} << 20U);
  std::uint32_t stepped = 0;
  for (std::uint64_t bytes = 0; bytes < (std::uint64_t{1} << 33U); bytes += megabyte.size()) {
    static const auto part = crc32c(megabyte.data(), megabyte.size());
    stepped = join_crc32c(stepped, part, megabyte.size());
  }
  checks.equal(stepped, doubled, "8 GiB of zeros");
}

// ----------------------------------------------------------------------------------------------------------- the field

void test_field(Checks& checks) {
  bool products = true, halves = true, matrices = true, inverses = true;
  for (unsigned a = 0; a < 256; ++a) {
    const auto& table = kFactorTables.halves[a];
    for (unsigned b = 0; b < 256; ++b) {
      const auto expected = product(a, b);
      products &= field_product(a, b) == expected;
      halves &= (table.low[b % 16] ^ table.high[b / 16]) == expected;
      unsigned image = 0;  // as GFNI does: bit i of the product is the parity of byte 7 - i and the operand
      for (unsigned bit = 0; bit < 8; ++bit) {
        const auto row = static_cast<unsigned>(kFactorTables.matrices[a] >> (8 * (7 - bit))) & b & 0xffU;
        image |= static_cast<unsigned>(__builtin_parity(row)) << bit;
      }
      matrices &= image == expected;
    }
    inverses &= a == 0 || product(a, field_inverse(static_cast<std::uint8_t>(a))) == 1;
  }
  checks.that(products, "field_product");
  checks.that(halves, "tables of halves");
  checks.that(matrices, "matrices of bits");
  checks.that(inverses, "field_inverse");
  for (const auto& [k, m] : {std::pair{1, 1}, {2, 3}, {5, 5}, {8, 8}, {100, 156}, {255, 1}, {128, 128}}) {
    bool equal = true;
    for (int row = 0; row < m; row += m / 8 + 1) {
      for (int column = 0; column < k; column += k / 8 + 1) {
        equal &= coefficient(k, row, column) == expected_coefficient(k, row, column);
      }
    }
    checks.that(equal, "the coefficients of " + std::to_string(k) + " + " + std::to_string(m));
  }
}

/// Blocks at odd addresses inside one allocation each, with guards behind.
struct Blocks {
  std::vector<Bytes> memory;
  std::vector<std::uint8_t*> at;
  static constexpr std::size_t kGuard = 64;
  Blocks(std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = draw(kGuard);
      memory.push_back(random_bytes(begin + bytes + kGuard));
      at.push_back(memory.back().data() + begin);
    }
  }
};

/// Products by `loops` and by definition, guards included.
void compare_products(Checks& checks, const FieldLoops& loops, int sources, int rows, std::size_t bytes, bool add) {
  const auto count = static_cast<std::size_t>(sources) * static_cast<std::size_t>(rows);
  const Bytes factors = random_bytes(count);
  const Blocks from(static_cast<std::size_t>(sources), bytes);
  Blocks into(static_cast<std::size_t>(rows), bytes);
  auto expected = into.memory;
  for (std::size_t r = 0; r < into.at.size(); ++r) {
    auto* const out = expected[r].data() + (into.at[r] - into.memory[r].data());
    if (!add) std::fill(out, out + bytes, std::uint8_t{0});
    for (std::size_t s = 0; s < from.at.size(); ++s) {
      for (std::size_t i = 0; i < bytes; ++i) out[i] ^= product(factors[r * from.at.size() + s], from.at[s][i]);
    }
  }
  loops.combine({sources, rows, factors.data(), from.at.data(), into.at.data(), bytes, add});
  checks.that(into.memory == expected, std::string(loops.name) + ": " + std::to_string(sources) + " sources, " +
                                           std::to_string(rows) + " rows, " + std::to_string(bytes) + " bytes" +
                                           (add ? ", added" : ""));
}

void test_products(Checks& checks) {
  for (const auto* loops : field_loops()) {
    for (std::size_t bytes = 0; bytes <= 260; ++bytes) compare_products(checks, *loops, 3, 2, bytes, bytes % 2 == 1);
    for (int rows = 1; rows <= 17; ++rows) compare_products(checks, *loops, 5, rows, 130 + draw(130), rows % 3 == 0);
    for (const int sources : {1, 2, 8, 31, 32, 33, 64, 65}) {
      compare_products(checks, *loops, sources, 3, 700 + draw(100), false);
      compare_products(checks, *loops, sources, 10, 700 + draw(1000), true);
    }
    compare_products(checks, *loops, 8, 9, 20'011, false);  // more than a tile, in more than one pass
    compare_products(checks, *loops, 40, 4, 20'011, false);
    compare_products(checks, *loops, 4, 4, 20'011, true);
  }
}

// ------------------------------------------------------------------------------------------------------------ the code

/// The whole code word of random data.
std::vector<Bytes> code_word(int k, int m, std::size_t bytes) {
  std::vector<Bytes> blocks;
  std::vector<const std::uint8_t*> data;
  std::vector<std::uint8_t*> parity;
  blocks.reserve(static_cast<std::size_t>(k) + static_cast<std::size_t>(m));
  for (int i = 0; i < k + m; ++i) blocks.push_back(random_bytes(bytes));
  for (int i = 0; i < k + m; ++i) {
    auto* const at = blocks[static_cast<std::size_t>(i)].data();
    i < k ? data.push_back(at) : parity.push_back(at);
  }
  return encode(k, m, data.data(), parity.data(), bytes) ? blocks : std::vector<Bytes>();
}

bool rebuilt(int k, int m, const std::vector<Bytes>& word, const std::vector<int>& lost) {
  auto blocks = word;
  std::vector<std::uint8_t*> at;
  at.reserve(blocks.size());
  for (auto& block : blocks) at.push_back(block.data());
  for (const int one : lost)
    std::fill(blocks[static_cast<std::size_t>(one)].begin(), blocks[static_cast<std::size_t>(one)].end(),
              std::uint8_t{0x5a});
  return reconstruct(k, m, lost, at.data(), word.front().size()) && blocks == word;
}

/// Every set of at most m lost blocks of every code up to 8 + 8.
void test_losses(Checks& checks) {
  constexpr int kMost = kSanitized ? 5 : 8;
  for (int k = 1; k <= kMost; ++k) {
    for (int m = 0; m <= kMost; ++m) {
      const auto word = code_word(k, m, 1 + draw(40));
      int patterns = 0, wrong = 0;
      for (unsigned set = 0; set < (1U << static_cast<unsigned>(k + m)); ++set) {
        if (__builtin_popcount(set) > m) continue;
        std::vector<int> lost;
        for (int i = 0; i < k + m; ++i) {
          if (((set >> static_cast<unsigned>(i)) & 1U) != 0) lost.push_back(i);
        }
        ++patterns;
        wrong += rebuilt(k, m, word, lost) ? 0 : 1;
      }
      checks.equal(wrong, 0,
                   "of " + std::to_string(patterns) + " losses of " + std::to_string(k) + " + " + std::to_string(m));
    }
  }
  for (const auto& [k, m] : {std::pair{40, 20}, {200, 56}, {255, 1}, {1, 255}, {128, 128}}) {
    const auto word = code_word(k, m, 77);
    std::vector<int> all(static_cast<std::size_t>(k + m));
    std::iota(all.begin(), all.end(), 0);
    for (int round = 0; round < 2; ++round) {
      std::shuffle(all.begin(), all.end(), draws());
      checks.that(rebuilt(k, m, word, {all.begin(), all.begin() + m}),
                  "a loss of " + std::to_string(k) + " + " + std::to_string(m));
    }
  }
}

/// encode() against the sums by definition; block by block in any order gives the same; parity 0 is the XOR.
void test_encoding(Checks& checks) {
  for (int round = 0; round < 60; ++round) {
    const int k = 1 + static_cast<int>(draw(12)), m = 1 + static_cast<int>(draw(12));
    const std::size_t bytes = draw(400);
    const auto word = code_word(k, m, bytes);
    std::vector<Bytes> expected(static_cast<std::size_t>(m), Bytes(bytes)), arriving = expected;
    std::vector<int> order(static_cast<std::size_t>(k));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), draws());
    for (const int data : order) {
      const auto& block = word[static_cast<std::size_t>(data)];
      for (int row = 0; row < m; ++row) {
        const auto at = static_cast<std::size_t>(row);
        const auto factor = expected_coefficient(k, row, data);
        for (std::size_t i = 0; i < bytes; ++i) expected[at][i] ^= product(factor, block[i]);
        multiply_add(coefficient(k, row, data), block.data(), arriving[at].data(), bytes);
      }
    }
    const std::string where = std::to_string(k) + " + " + std::to_string(m);
    checks.that(std::equal(expected.begin(), expected.end(), word.begin() + k), "parity of " + where);
    checks.that(arriving == expected, "parity of arriving blocks of " + where);
    Bytes sum(bytes);
    for (int data = 0; data < k; ++data) {
      for (std::size_t i = 0; i < bytes; ++i) sum[i] ^= word[static_cast<std::size_t>(data)][i];
    }
    checks.that(sum == expected.front(), "the first parity is the XOR");
  }
}

/// Any block from any k others, as their sum.
void test_rebuilding_as_blocks_arrive(Checks& checks) {
  for (int round = 0; round < 100; ++round) {
    const int k = 1 + static_cast<int>(draw(8)), m = 1 + static_cast<int>(draw(8));
    const auto word = code_word(k, m, 50);
    std::vector<int> all(static_cast<std::size_t>(k + m));
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), draws());
    const std::vector<int> from(all.begin(), all.begin() + k);
    const int wanted = static_cast<int>(draw(all.size()));
    const auto factors = rebuilding_factors(k, m, from, wanted);
    Bytes sum(50), together(50);
    std::vector<const std::uint8_t*> blocks;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      blocks.push_back(word[static_cast<std::size_t>(from[i])].data());
      multiply_add(factors[i], blocks.back(), sum.data(), sum.size());
    }
    std::uint8_t* const into[] = {together.data()};
    multiply_add(factors, blocks, into, together.size());
    checks.that(sum == word[static_cast<std::size_t>(wanted)] && together == sum, "a block from k others");
  }
}

void test_refusals(Checks& checks) {
  for (const auto& [k, m] : {std::pair{0, 1}, {-1, 2}, {1, -1}, {200, 57}, {257, 0}, {1 << 30, 1 << 30}}) {
    checks.that(!valid_code(k, m), "not a code: " + std::to_string(k) + " + " + std::to_string(m));
    checks.that(!encode(k, m, nullptr, nullptr, 1), "not encoded");
    checks.that(!reconstruct(k, m, {}, nullptr, 1) && rebuilding_factors(k, m, {}, 0).empty(), "not rebuilt");
  }
  for (const std::vector<int>& lost : std::vector<std::vector<int>>{{0, 1, 2}, {0, 0}, {-1}, {5}, {4, 5}}) {
    checks.that(!reconstruct(3, 2, lost, nullptr, 1), "losses that cannot be rebuilt");
  }
  for (const std::vector<int>& from :
       std::vector<std::vector<int>>{{0, 1}, {0, 1, 1}, {0, 1, 5}, {-1, 1, 2}, {0, 1, 2, 3}}) {
    checks.that(rebuilding_factors(3, 2, from, 0).empty(), "blocks from which nothing is rebuilt");
  }
  const int three[] = {0, 1, 2};
  checks.that(rebuilding_factors(3, 2, three, 5).empty() && rebuilding_factors(3, 2, three, -1).empty(), "not a block");
  checks.that(reconstruct(3, 2, {}, nullptr, 1), "nothing is lost");
}

/// A group loses any m of its nodes: every stripe keeps k blocks, and parity and work are spread evenly.
void test_rotation(Checks& checks) {
  for (int nodes = 2; nodes <= 16; ++nodes) {
    for (int m = 1; m < nodes; ++m) {
      bool right = true;
      for (int stripe = 0; stripe < nodes; ++stripe) {
        std::vector<int> holders(static_cast<std::size_t>(nodes));
        for (int node = 0; node < nodes; ++node) {
          const int block = block_of_node(nodes, m, stripe, node);
          right &= block >= 0 && block < nodes && node_of_block(nodes, m, stripe, block) == node;
          if (right) ++holders[static_cast<std::size_t>(block)];
        }
        right &= holders == std::vector<int>(static_cast<std::size_t>(nodes), 1);
      }
      for (int node = 0; node < nodes; ++node) {
        std::vector<int> stripes;
        for (int segment = 0; segment < nodes - m; ++segment) {
          const auto [stripe, block] = segment_of_node(nodes, m, node, segment);
          right &= block == segment && block_of_node(nodes, m, stripe, node) == block;
          stripes.push_back(stripe);
        }
        std::sort(stripes.begin(), stripes.end());
        right &= std::adjacent_find(stripes.begin(), stripes.end()) == stripes.end();
      }
      checks.that(right, std::to_string(nodes) + " nodes of which " + std::to_string(m) + " may be lost");
    }
  }
}

}  // namespace
}  // namespace shakedown::coding

int main() {
  using namespace shakedown::coding;
  shakedown::Checks checks;
  test_vectors(checks);
  test_checksums(checks);
  test_field(checks);
  test_products(checks);
  test_encoding(checks);
  test_losses(checks);
  test_rebuilding_as_blocks_arrive(checks);
  test_refusals(checks);
  test_rotation(checks);
  checks.that(
      checksum_loops().back()->name == std::string("plain") && field_loops().back()->name == std::string("plain"),
      "plain is the last");
  checks.that(!checksum_isa().empty() && !field_isa().empty(), "what runs here has a name");
  return checks.end();
}
