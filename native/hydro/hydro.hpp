// hydro: the Euler equations of a gas in two dimensions, by Godunov's method of second order, one dimension after the
// other. What the loops of every instruction set and the code around them share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/memory.hpp"

namespace shakedown::hydro {

inline constexpr double kGamma = 1.4;       // ratio of specific heats of air
inline constexpr double kCourant = 0.8;     // of a cell that the fastest wave may cross in a step
inline constexpr double kLeast = 1e-10;     // density that a state is raised to where it is less
inline constexpr double kLeastC = 1e-10;    // and its speed of sound
inline constexpr int kMostIterations = 10;  // of the Riemann solver
inline constexpr double kConverged = 1e-6;  // it ends where pressure changes by less, relatively

/// What is conserved in a cell, in this order in memory: densities of mass, momentum along x and y, and energy.
enum Conserved : int { kMass = 0, kAlongX = 1, kAlongY = 2, kEnergy = 3 };
inline constexpr int kVariables = 4;
inline constexpr std::int64_t kGhosts = 2;  // layers of cells around a rank's own

/// One rank's cells and their ghosts. A row of cells is four lines, one for each variable, one after the other.
class Field {
 public:
  Field() = default;
  /// Not touched here: who writes first decides the NUMA node.
  Field(std::int64_t columns, std::int64_t rows) : columns_(columns), rows_(rows), pitch_(pitch_of(columns)) {
    memory_ = Buffer(bytes_of(columns, rows), Pages::huge);
  }
  /// Of a field in memory.
  static std::size_t bytes_of(std::int64_t columns, std::int64_t rows) {
    return static_cast<std::size_t>((rows + 2 * kGhosts) * kVariables * pitch_of(columns)) * sizeof(double);
  }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Numbers from one line to the next.
  [[nodiscard]] std::int64_t pitch() const { return pitch_; }
  /// Where column 0 lies in a line.
  static constexpr std::int64_t kLead = 8;
  /// The cells of a row from column 0 on; ghosts are columns -2, -1 and those from columns() on, and rows likewise.
  [[nodiscard]] double* line(std::int64_t row, int variable) const {
    return static_cast<double*>(memory_.data()) + ((row + kGhosts) * kVariables + variable) * pitch_ + kLead;
  }
  /// All of it, from the first ghost of the first row on.
  [[nodiscard]] double* data() const { return static_cast<double*>(memory_.data()); }

 private:
  // Whole vectors are read and written: up to seven numbers beyond the last ghost.
  static std::int64_t pitch_of(std::int64_t columns) { return (kLead + columns + kGhosts + 7 + 7) / 8 * 8; }

  Buffer memory_;
  std::int64_t columns_ = 0, rows_ = 0, pitch_ = 0;
};

/// Columns [left, right) and rows [low, high) of a field.
struct Tile {
  std::int64_t left = 0, right = 0, low = 0, high = 0;
};
/// Columns of a tile: all that a thread keeps of a few rows then stays in its level-2 cache. A multiple of a vector.
inline constexpr std::int64_t kTileColumns = 128;

/// Which dimension a step advances first.
enum class Split : std::uint8_t { x_first, y_first };

/// Sides of the field that are walls of the gas; at the others are neighbours.
struct Walls {
  bool left = true, right = true, low = true, high = true;
};

/// One step of a field into another, ghosts in place.
struct Step {
  const Field* from = nullptr;
  const Field* to = nullptr;
  double dt_dx = 0;
  Split split = Split::x_first;
  bool speeds = false;  // find the fastest wave of what comes out
  Walls walls;
};

/// Of a tile that was advanced: the fastest wave in it (where asked for), and what pushed on the walls, as the sum of
/// the fluxes of momentum through their faces.
struct Advanced {
  double fastest = 0;
  double left = 0, right = 0, low = 0, high = 0;
  /// And of another tile.
  void join(const Advanced& other) {
    fastest = std::max(fastest, other.fastest);
    left += other.left;
    right += other.right;
    low += other.low;
    high += other.high;
  }
};

/// Numbers that a thread needs as room to work, aligned to 64 bytes.
inline constexpr std::size_t kScratchLine = static_cast<std::size_t>(kTileColumns) + 32;
inline constexpr std::size_t kScratch = 56 * kScratchLine;

struct Isa {
  const char* name;
  /// Advance the cells of a tile at most kTileColumns wide. Results are the same bits for every Isa and every tiling.
  Advanced (*advance)(const Step& step, const Tile& tile, double* scratch);
  /// The fastest wave along x or y in a tile, c + max(|u|, |v|).
  double (*fastest)(const Field& field, const Tile& tile);
};

std::vector<std::string> isas_built();
const Isa& isa_of(const std::string& name);
std::vector<const Isa*> isas_here();

}  // namespace shakedown::hydro
