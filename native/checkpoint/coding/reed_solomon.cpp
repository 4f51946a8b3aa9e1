#include <algorithm>
#include <array>

#include "coding.hpp"
#include "field.hpp"
#include "loops.hpp"

namespace shakedown::coding {
namespace {

void combine(std::span<const std::uint8_t> factors, std::span<const std::uint8_t* const> from,
             std::span<std::uint8_t* const> into, std::size_t bytes, bool add) noexcept {
  static const FieldLoops& loops = *field_loops().front();
  if (into.empty() || bytes == 0) return;
  loops.combine({static_cast<int>(from.size()), static_cast<int>(into.size()), factors.data(), from.data(), into.data(),
                 bytes, add});
}

/// The row of a block in the generator: that of a data block is the identity's.
std::vector<std::uint8_t> generator_row(int k, int block) {
  std::vector<std::uint8_t> row(static_cast<std::size_t>(k));
  for (int data = 0; data < k; ++data) {
    row[static_cast<std::size_t>(data)] =
        block < k ? static_cast<std::uint8_t>(block == data) : coefficient(k, block - k, data);
  }
  return row;
}

/// Gauss-Jordan on k rows of 2 k: the left half becomes the identity, the right half the inverse. What is left of a
/// Cauchy code always has one.
void invert(std::vector<std::vector<std::uint8_t>>& rows) {
  const std::size_t k = rows.size();
  for (std::size_t column = 0; column < k; ++column) {
    std::size_t pivot = column;
    while (rows[pivot][column] == 0) ++pivot;
    std::swap(rows[pivot], rows[column]);
    const auto scale = field_inverse(rows[column][column]);
    for (auto& value : rows[column]) value = field_product(value, scale);
    for (std::size_t other = 0; other < k; ++other) {
      const auto factor = rows[other][column];
      if (other == column || factor == 0) continue;
      for (std::size_t i = 0; i < 2 * k; ++i) rows[other][i] ^= field_product(factor, rows[column][i]);
    }
  }
}

/// For each block of the data the factors of the blocks `from`, which are k different ones.
std::vector<std::vector<std::uint8_t>> data_from(int k, std::span<const int> from) {
  std::vector<std::vector<std::uint8_t>> rows;
  rows.reserve(from.size());
  for (const int block : from) {
    rows.push_back(generator_row(k, block));
    rows.back().resize(2 * static_cast<std::size_t>(k));
    rows.back()[static_cast<std::size_t>(k) + rows.size() - 1] = 1;
  }
  invert(rows);
  for (auto& row : rows) row.erase(row.begin(), row.begin() + k);
  return rows;
}

/// The factors of the blocks `from` in a block, given those in each block of the data.
std::vector<std::uint8_t> factors_in(int k, int block, const std::vector<std::vector<std::uint8_t>>& data) {
  if (block < k) return data[static_cast<std::size_t>(block)];
  std::vector<std::uint8_t> sum(static_cast<std::size_t>(k));
  for (int of = 0; of < k; ++of) {
    const auto factor = coefficient(k, block - k, of);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] ^= field_product(factor, data[static_cast<std::size_t>(of)][i]);
    }
  }
  return sum;
}

/// Whether the numbers are blocks of the code, none of them twice; marks them.
bool mark(std::span<const int> blocks, int count, std::array<bool, kMostBlocks>& marked) {
  for (const int block : blocks) {
    if (block < 0 || block >= count || marked[static_cast<std::size_t>(block)]) return false;
    marked[static_cast<std::size_t>(block)] = true;
  }
  return true;
}

int wrapped(int value, int nodes) { return ((value % nodes) + nodes) % nodes; }

}  // namespace

bool valid_code(int k, int m) noexcept {
  return k >= 1 && m >= 0 && k <= kMostBlocks && m <= kMostBlocks && k + m <= kMostBlocks;
}

std::uint8_t coefficient(int k, int parity, int data) noexcept {
  const auto first = static_cast<std::uint8_t>(static_cast<unsigned>(k) ^ static_cast<unsigned>(data));
  const auto sum = static_cast<std::uint8_t>(static_cast<unsigned>(k + parity) ^ static_cast<unsigned>(data));
  return field_product(first, field_inverse(sum));
}

bool encode(int k, int m, const std::uint8_t* const* data, std::uint8_t* const* parity, std::size_t bytes) noexcept {
  if (!valid_code(k, m)) return false;
  std::array<std::uint8_t, kMostBlocks * kMostBlocks / 4> factors;  // k x m is at most 128 x 128
  std::size_t next = 0;
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < k; ++column) factors[next++] = coefficient(k, row, column);
  }
  combine({factors.data(), next}, {data, static_cast<std::size_t>(k)}, {parity, static_cast<std::size_t>(m)}, bytes,
          false);
  return true;
}

void multiply_add(std::uint8_t factor, const std::uint8_t* from, std::uint8_t* into, std::size_t bytes) noexcept {
  combine({&factor, 1}, {&from, 1}, {&into, 1}, bytes, true);
}

void multiply_add(std::span<const std::uint8_t> factors, std::span<const std::uint8_t* const> from,
                  std::span<std::uint8_t* const> into, std::size_t bytes) noexcept {
  combine(factors, from, into, bytes, true);
}

std::vector<std::uint8_t> rebuilding_factors(int k, int m, std::span<const int> from, int wanted) {
  std::array<bool, kMostBlocks> marked{};
  if (!valid_code(k, m) || from.size() != static_cast<std::size_t>(k) || wanted < 0 || wanted >= k + m) return {};
  if (!mark(from, k + m, marked)) return {};
  return factors_in(k, wanted, data_from(k, from));
}

bool reconstruct(int k, int m, std::span<const int> lost, std::uint8_t* const* blocks, std::size_t bytes) {
  std::array<bool, kMostBlocks> is_lost{};
  if (!valid_code(k, m) || lost.size() > static_cast<std::size_t>(m) || !mark(lost, k + m, is_lost)) return false;
  if (lost.empty()) return true;
  std::vector<int> from;
  std::vector<const std::uint8_t*> sources;
  for (int block = 0; sources.size() < static_cast<std::size_t>(k); ++block) {
    if (is_lost[static_cast<std::size_t>(block)]) continue;
    from.push_back(block);
    sources.push_back(blocks[block]);
  }
  const auto data = data_from(k, from);
  std::vector<std::uint8_t> factors;
  std::vector<std::uint8_t*> into;
  for (const int block : lost) {
    const auto row = factors_in(k, block, data);
    factors.insert(factors.end(), row.begin(), row.end());
    into.push_back(blocks[block]);
  }
  combine(factors, sources, into, bytes, false);
  return true;
}

int block_of_node(int nodes, int m, int stripe, int node) noexcept {
  const int offset = wrapped(node - stripe, nodes);  // the nodes with offsets 0 to m - 1 hold the parity
  return offset < m ? nodes - m + offset : offset - m;
}

int node_of_block(int nodes, int m, int stripe, int block) noexcept {
  const int k = nodes - m;
  return wrapped(stripe + (block < k ? block + m : block - k), nodes);
}

StripeBlock segment_of_node(int nodes, int m, int node, int segment) noexcept {
  return {wrapped(node - m - segment, nodes), segment};
}

std::string field_isa() { return field_loops().front()->name; }

}  // namespace shakedown::coding
