// HPL.dat: reading it as netlib HPL 2.3 does, and writing it so that netlib's xhpl and hpcc take it.
//
// The rules are those of HPL_pdinfo of netlib HPL 2.3 (testing/ptest/HPL_pdinfo.c), with three differences, all of them
// louder than netlib: what netlib replaces in silence is replaced here too, with a notice; what netlib misreads (a word
// that only begins with a number, a line that holds fewer values than are counted) is refused; and an error names the
// file, the line, what was found and what is expected.
//
//   lines       1 and 2 are free text; 3 to 31 hold one item each, in a fixed order, values first; whatever follows the
//               values is a comment. Lines after the 31st (hpcc's) are ignored, with a notice. Line ends may be
//               Windows'.
//   line 31     may be missing: the alignment is then 8. Any other line that is missing is an error.
//   lists       a line with the number of values, 1 to 20, then a line with the values; P and Q share one number.
//   refused     N < 0, NB < 1, P < 1, Q < 1, NBMIN < 1, NDIV < 2, DEPTH < 0; numbers over 2147483647 (netlib's are
//   int);
//               a threshold that is not finite (every residual would pass, or none).
//   replaced    PFACT, RFACT not 0..2: 2 (right). BCAST not 0..5: 1 (1ringM). SWAP not 0..2: 1 (long). PMAP not 1: 0
//               (row). Swapping threshold < 0: 0. L1, U not 0 or 1: 0 (transposed). Equilibration not 0 or 1: 1.
//               Alignment < 1: 4.
//   device      6 is standard output, 7 standard error, anything else the file that line 3 names.
//   threshold   0 or less: the results are not checked.
//   spacing     netlib moves on by one character between values: what it would misread because of that (three spaces
//               in a row, for one) is read right here, with a notice. So is a line longer than its buffer.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace shakedown::hpl {

using Values = std::vector<std::int64_t>;

inline constexpr std::size_t kMostValues = 20;                                      // of one list: HPL_MAX_PARAM
inline constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();  // netlib's int
inline constexpr int kStdout = 6;
inline constexpr int kStderr = 7;

/// What an HPL.dat says. Every list has 1 to 20 values; P and Q have as many as each other.
struct Dat {
  std::string output_file = "HPL.out";  // one word; used where the device is neither 6 nor 7
  std::int64_t device = kStdout;
  Values n = {1000};
  Values nb = {192};
  std::int64_t mapping = 0;  // of the ranks to the grid: 0 row, 1 column
  Values p = {1};
  Values q = {1};
  double threshold = 16;  // of the scaled residual; 0 or less: no check
  Values pfact = {2};     // 0 left, 1 crout, 2 right
  Values nbmin = {4};
  Values ndiv = {2};
  Values rfact = {1};                // 0 left, 1 crout, 2 right
  Values bcast = {1};                // 0 1ring, 1 1ringM, 2 2ring, 3 2ringM, 4 long, 5 longM
  Values depth = {1};                // of the look-ahead, in panels
  std::int64_t swap = 2;             // 0 binary exchange, 1 long (spread and roll), 2 mix
  std::int64_t swap_threshold = 64;  // in columns: mix takes the binary exchange up to it
  bool l1_transposed = true;
  bool u_transposed = true;
  bool equilibration = true;
  std::int64_t alignment = 8;  // of buffers, in double words

  bool operator==(const Dat&) const = default;
};

/// Reads the text of an HPL.dat; `name` is what errors and notices call the file. Appends to `notices` one sentence for
/// each value that was replaced and each thing that other HPLs read otherwise. Throws a usage error.
Dat parse_dat(std::string_view text, const std::string& name, std::vector<std::string>& notices);

/// The 31 lines of an HPL.dat. parse_dat of it gives the same values, with no notice but that of a threshold of 0 or
/// less. Throws a usage error where a value lies outside what the comment above says, or where the name of the output
/// file is not one word.
std::string format_dat(const Dat& dat);

/// In words, the parameters of the file that have no meaning in this program, each with its line.
std::vector<std::string> ignored(const Dat& dat);

/// Ranks that the largest grid needs: netlib refuses to start on fewer.
std::int64_t ranks_needed(const Dat& dat);

/// One run of the sweep.
struct Variant {
  std::int64_t n, nb, p, q, depth, bcast, rfact, pfact, nbmin, ndiv;
};

/// How many runs the lists make: the product of their lengths, P and Q counting once.
std::uint64_t run_count(const Dat& dat);

/// Run number `index`, from 0, in the order of HPL_pddriver: grids outermost, then N, NB, depth, bcast, rfact, pfact,
/// nbmin, and ndiv innermost.
Variant run_at(const Dat& dat, std::uint64_t index);

}  // namespace shakedown::hpl
