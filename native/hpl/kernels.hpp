// The small loops that no BLAS does well: narrow columns, narrow products, transposition. One set for each instruction
// set; all matrices are column-major.
#pragma once

#include <string>
#include <vector>

#include "layout.hpp"

namespace shakedown::hpl {

/// The entry of largest magnitude that a thread found; row -1 where it saw none.
struct Largest {
  double magnitude = -1;
  Index row = -1;
};

struct Kernels {
  const char* isa;

  /// y -= A x for A of `rows` x `columns`, and the largest |y| with the lowest row it stands in. The last column of A
  /// is multiplied by `scale` first, in place: so a column is scaled by its pivot on the way.
  Largest (*column)(Index rows, Index columns, double* a, Index lda, const double* x, double scale, double* y);

  /// C -= A B, C being rows x columns and B depth x columns: for a depth and a width of a few vectors.
  void (*update)(Index rows, Index columns, Index depth, const double* a, Index lda, const double* b, Index ldb,
                 double* c, Index ldc);

  /// Solve L X = B in place, L unit lower triangular of order `order`, B being order x columns.
  void (*solve_unit)(Index order, Index columns, const double* l, Index ldl, double* b, Index ldb);

  /// to[i + j ldt] = from[i ldf + j] for i < rows, j < columns: rows stored one after another become columns.
  void (*transpose)(Index rows, Index columns, const double* from, Index ldf, double* to, Index ldt);

  /// y -= A x for A of `rows` x `columns` stored row by row, `lda` apart.
  void (*take_off)(Index rows, Index columns, const double* a, Index lda, const double* x, double* y);

  /// Sum of a[i] x[i], and sum of |a[i]| added to `absolute`.
  double (*dot)(Index length, const double* a, const double* x, double* absolute);
};

/// Those of the widest instruction set that this machine runs; `isa` names another ("auto": the widest).
const Kernels& kernels(const std::string& isa = "auto");
/// The sets that were built in, widest first.
const std::vector<std::string>& built_kernels();

}  // namespace shakedown::hpl
