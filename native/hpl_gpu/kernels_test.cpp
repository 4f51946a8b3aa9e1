// The kernels' own source, run by gpu/emulate.hpp: the matrix bit by bit, a base panel as LU with partial pivoting
// defines it however many blocks share it, rows that are exchanged, the triangle solved.
#include "kernels.hpp"

#include <cmath>
#include <random>
#include <thread>

#include "gpu/emulate.hpp"
#include "gpu/host.hpp"
#include "hpl/matrix.hpp"
#include "hpl/rows.hpp"
#include "hpl/testing/reference.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl_gpu;
using shakedown::Checks;
using shakedown::hpl::testing::Dice;
namespace gpu = shakedown::gpu;
namespace emulate = shakedown::gpu::emulate;

struct Bench {
  std::unique_ptr<gpu::Device> device = std::move(gpu::host_devices(1).front());
  Kernels kernels{*device, module({})};
  gpu::Stream stream{*device};
};

void matrix(Checks& checks, const Bench& bench) {
  for (const auto& [n, nb, p, q] :
       {std::array{1, 1, 1, 1}, {37, 5, 1, 1}, {60, 7, 2, 3}, {33, 64, 2, 2}, {90, 8, 3, 2}}) {
    const auto whole = shakedown::hpl::testing::netlib_matrix(n);
    for (int row = 0; row < p; ++row) {
      for (int column = 0; column < q; ++column) {
        Part part{n, {nb, p}, {nb, q}, row, column, 0, 0};
        part.height = part.rows.count(n, row);
        part.width = part.columns.count(n + 1, column);
        const Index lda = part.height + 3;
        std::vector<double> a(static_cast<std::size_t>(lda * std::max<Index>(1, part.width)), -7);
        const Steps& step = shakedown::hpl::kStep;
        bench.kernels.generate({.blocks = 3, .threads = 4, .blocks_y = 2}, bench.stream, part, step, step.times(4),
                               a.data(), lda, (part.height + 2) / 3);
        std::vector<double> x(static_cast<std::size_t>(std::max<Index>(1, part.width)));
        for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::sin(static_cast<double>(j));
        std::vector<double> sums(static_cast<std::size_t>(4 * std::max<Index>(1, part.height)), -1),
            columns(x.size(), -1);
        const Index blocks = (part.width + nb - 1) / nb;
        bench.kernels.row_sums({.blocks = 30, .threads = 4, .blocks_y = 2}, bench.stream, part, step,
                               step.times(static_cast<std::uint64_t>(n)), x.data(), sums.data(), (blocks + 1) / 2);
        bench.kernels.column_sums({.blocks = 30, .threads = 4}, bench.stream, part, step, columns.data());
        bool same = true, summed = true;
        for (Index i = 0; i < part.height; ++i) {
          double product = 0, absolute = 0;
          for (Index j = 0; j < part.width; ++j) {
            const Index global = part.columns.global(j, column);
            const double entry = whole[static_cast<std::size_t>(part.rows.global(i, row) + global * n)];
            same = same && a[static_cast<std::size_t>(i + j * lda)] == entry;
            if (global == n) continue;
            product += entry * x[static_cast<std::size_t>(j)];
            absolute += std::fabs(entry);
          }
          const auto at = [&](Index chunk, Index which) {
            return sums[static_cast<std::size_t>(2 * (chunk * part.height + i) + which)];
          };
          summed = summed && std::fabs(at(0, 0) + at(1, 0) - product) < 1e-13 &&
                   std::fabs(at(0, 1) + at(1, 1) - absolute) < 1e-12;
        }
        for (Index j = 0; j < part.width; ++j) {
          double absolute = 0;
          const Index global = part.columns.global(j, column);
          for (Index i = 0; i < part.height && global < n; ++i)
            absolute += std::fabs(whole[static_cast<std::size_t>(part.rows.global(i, row) + global * n)]);
          summed = summed && std::fabs(columns[static_cast<std::size_t>(j)] - absolute) < 1e-12;
        }
        checks.that(same, "the matrix is netlib's, bit by bit: n " + std::to_string(n));
        checks.that(summed, "sums of rows and columns: n " + std::to_string(n));
      }
    }
  }
}

/// A panel to be factored, and what is right for it.
struct Panel {
  Index rows;
  int order, from, width;
  bool top;
  std::vector<double> local, l1, inverse, raw;
  std::vector<Index> picks;
};

/// Where entry (i, j) of a square of that order lies.
std::size_t place(Index i, Index j, Index order) { return static_cast<std::size_t>(i + j * order); }

Panel random_panel(Dice& dice, Index rows, int order, int from, int width, bool top) {
  Panel panel{rows, order, from, width, top, {}, {}, {}, {}, {}};
  panel.local.resize(static_cast<std::size_t>(rows * order));
  for (double& value : panel.local) value = static_cast<double>(dice.between(-1000000, 1000000)) * 1e-6;
  const auto square = static_cast<std::size_t>(order) * static_cast<std::size_t>(order);
  panel.l1.assign(square, 0);
  panel.inverse.assign(square, 0);
  panel.raw.assign(square, 0);
  panel.picks.assign(static_cast<std::size_t>(order), -1);
  return panel;
}

/// Column by column, from the definition: the first of the largest magnitudes is the pivot. The rows chosen leave.
void reference(Panel& panel,
               const std::function<bool(Panel&, int, Index, std::vector<double>&, std::vector<double>&)>& exchange) {
  const Index active = panel.top ? panel.from : 0;
  const auto at = [&](Index r, int c) -> double& { return panel.local[static_cast<std::size_t>(r + c * panel.rows)]; };
  const auto l1 = [&](int r, int c) -> double& { return panel.l1[place(r, c, panel.order)]; };
  for (int j = 0; j < panel.width; ++j) {
    const int here = panel.from + j;
    const Index live = panel.top ? active + j : 0;
    Index best = -1;
    for (Index r = live; r < panel.rows; ++r) {
      if (best < 0 ? std::fabs(at(r, here)) >= 0 : std::fabs(at(r, here)) > std::fabs(at(best, here))) best = r;
    }
    std::vector<double> chosen(static_cast<std::size_t>(panel.width)), displaced(chosen);
    for (int c = 0; c < panel.width; ++c) {
      if (best >= 0) chosen[static_cast<std::size_t>(c)] = at(best, panel.from + c);
      if (panel.top) displaced[static_cast<std::size_t>(c)] = at(here, panel.from + c);
    }
    if (panel.top && best < 0) {
      chosen = displaced;
      best = here;
    }
    const bool mine = exchange(panel, j, best, chosen, displaced);
    panel.picks[static_cast<std::size_t>(here)] = best;
    for (int c = 0; c < panel.width; ++c) {
      l1(here, panel.from + c) = chosen[static_cast<std::size_t>(c)];
      if (mine && !(panel.top && best == here)) at(best, panel.from + c) = displaced[static_cast<std::size_t>(c)];
    }
    for (Index r = panel.top ? here + 1 : 0; r < panel.rows; ++r) {
      const double pivot = chosen[static_cast<std::size_t>(j)];
      const double l = pivot != 0 ? at(r, here) / pivot : at(r, here);
      at(r, here) = l;
      for (int c = j + 1; c < panel.width; ++c) at(r, panel.from + c) -= l * chosen[static_cast<std::size_t>(c)];
    }
  }
}

double off(const std::vector<double>& found, const std::vector<double>& expected) {
  double most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double by = std::fabs(found[i] - expected[i]);
    most = by <= most ? most : by;  // NaN stays
  }
  return most;
}

BaseTask task_of(Panel& panel, std::vector<Slot>& slots, unsigned blocks, std::uint64_t sequence, Courier* courier) {
  BaseTask task;
  task.local = panel.local.data();
  task.ld = task.rows = panel.rows;
  task.from = panel.from;
  task.width = panel.width;
  task.top = panel.top;
  task.l1 = panel.l1.data();
  task.inverse = panel.inverse.data();
  task.order = panel.order;
  task.picks = panel.picks.data();
  slots.resize(std::size_t{2} * blocks + 6);
  task.slots = slots.data();
  task.current = slots.data() + std::size_t{2} * blocks;
  task.result = task.current + 2;
  task.courier = courier;
  task.sequence = sequence;
  return task;
}

void launch(const Bench& bench, BaseTask task, unsigned blocks, unsigned threads, bool resident) {
  const Index active = task.rows - (task.top ? task.from : 0);
  task.each = std::max<Index>(1, (active + blocks - 1) / blocks);
  const auto bytes = static_cast<unsigned>(task.each * task.width) * 8;
  const auto& kernel = resident ? bench.kernels.base_shared : bench.kernels.base_global;
  kernel({.blocks = blocks, .threads = threads, .shared_bytes = resident ? bytes : 0, .waiting = true}, bench.stream,
         task);
}

void base(Checks& checks, const Bench& bench) {
  Dice dice(3);
  std::vector<Slot> slots;
  std::uint64_t sequence = 1;
  for (int trial = 0; trial < 40; ++trial) {
    const int width = static_cast<int>(dice.between(1, 32));
    const int from = static_cast<int>(dice.below(3)) * 9;
    const int order = from + width + static_cast<int>(dice.below(3)) * 7;
    const Index rows = order + dice.below(90);
    const auto blocks = static_cast<unsigned>(dice.between(1, 4));
    const bool resident = dice.below(2) == 0;
    Panel panel = random_panel(dice, rows, order, from, width, true);
    if (trial % 7 == 0) {  // a tie: the first row of all has it
      for (Index r = 0; r < rows; ++r) panel.local[static_cast<std::size_t>(r + from * rows)] = r % 2 == 0 ? 1 : -1;
    }
    if (trial == 11) panel.local[static_cast<std::size_t>(from * rows + rows - 1)] = std::nan("");
    if (trial == 12) std::fill_n(panel.local.begin() + from * rows, rows, 0.0);
    Panel right = panel;
    reference(right, [](auto&&...) { return true; });
    slots.clear();
    const std::string what = std::to_string(rows) + " x " + std::to_string(width) + " from " + std::to_string(from) +
                             " on " + std::to_string(blocks) + " blocks" + (resident ? ", in shared memory" : "");
    BaseTask task = task_of(panel, slots, blocks, sequence, nullptr);
    launch(bench, task, blocks, 32u << dice.below(3), resident);
    sequence += static_cast<std::uint64_t>(width);
    checks.that(panel.picks == right.picks, "the pivots of " + what);
    if (trial == 11) continue;
    checks.that(off(panel.l1, right.l1) < 1e-9, "the chosen rows of " + what);
    for (int c = 0; c < width; ++c) {  // rows that are done need not be what they were
      for (Index r = from + width; r < rows; ++r) {
        const auto at = static_cast<std::size_t>(r + (from + c) * rows);
        if (!(std::fabs(panel.local[at] - right.local[at]) < 1e-9)) checks.that(false, "L of " + what);
      }
    }
    double most = 0;  // the inverse: L times it is one
    for (int i = 0; i < width; ++i) {
      for (int c = 0; c < width; ++c) {
        double sum = 0;
        for (int k = 0; k <= i; ++k) {
          const double l = k == i ? 1 : panel.l1[place(from + i, from + k, order)];
          sum += l * panel.inverse[place(from + k, from + c, order)];
        }
        most = std::max(most, std::fabs(sum - (i == c ? 1 : 0)));
      }
    }
    checks.that(most < 1e-8, "the inverse of " + what);

    // The panel's other columns follow: each a permutation that the interchanges give one after another.
    Panel moved = panel;
    bench.kernels.permute({.blocks = 2, .threads = 64}, bench.stream, task, panel.raw.data());
    for (int c = 0; c < order; ++c) {
      if (c >= from && c < from + width) continue;
      double* column = moved.local.data() + c * rows;
      for (int i = from; i < from + width; ++i) {
        std::swap(column[i], column[panel.picks[static_cast<std::size_t>(i)]]);
      }
      const auto& to = c < from ? panel.l1 : panel.raw;
      bool same = true;
      for (int i = from; i < from + width; ++i) same = same && to[place(i, c, order)] == column[i];
      for (Index r = from + width; r < rows; ++r)
        same = same && panel.local[static_cast<std::size_t>(r + c * rows)] == column[r];
      checks.that(same, "the other columns of " + what);
    }
  }
}

/// Two ranks, each a panel of its own: the host between them, as panel.cpp does it with MPI.
void couriers(Checks& checks, const Bench& bench) {
  Dice dice(5);
  for (int trial = 0; trial < 12; ++trial) {
    const int width = static_cast<int>(dice.between(1, 32));
    const int order = width + 5;
    Panel ranks[2] = {random_panel(dice, order + dice.below(40), order, 0, width, true),
                      random_panel(dice, trial == 0 ? 0 : dice.between(1, 50), order, 0, width, false)};
    // As one: the rows of the second below those of the first.
    Panel whole = random_panel(dice, ranks[0].rows + ranks[1].rows, order, 0, width, true);
    for (int c = 0; c < order; ++c) {
      for (Index r = 0; r < whole.rows; ++r) {
        const auto& from = ranks[r < ranks[0].rows ? 0 : 1];
        const Index row = r < ranks[0].rows ? r : r - ranks[0].rows;
        whole.local[static_cast<std::size_t>(r + c * whole.rows)] =
            from.local[static_cast<std::size_t>(row + c * from.rows)];
      }
    }
    reference(whole, [](auto&&...) { return true; });
    Courier couriers[2];
    std::vector<Slot> slots[2];
    std::vector<std::thread> devices;
    std::vector<Index> winners;
    const std::uint64_t first = 7;
    devices.reserve(2);
    for (int r = 0; r < 2; ++r) {
      devices.emplace_back([&, r] {
        const unsigned blocks = 2;
        launch(bench, task_of(ranks[r], slots[r], blocks, first, &couriers[r]), blocks, 32, trial % 2 == 0);
      });
    }
    for (int j = 0; j < width; ++j) {
      const auto sequence = first + static_cast<std::uint64_t>(j);
      for (auto& one : couriers) {
        while (shakedown::load_acquire(&one.asked, true) != sequence) std::this_thread::yield();
      }
      const int owner = couriers[1].magnitude > couriers[0].magnitude ? 1 : 0;
      winners.push_back(couriers[owner].row + (owner == 1 ? ranks[0].rows : 0));
      for (int r = 0; r < 2; ++r) {
        std::copy_n(couriers[owner].candidate, width, couriers[r].chosen);
        std::copy_n(couriers[0].current, width, couriers[r].displaced);
        couriers[r].winner = r == owner ? couriers[owner].row : -1;
      }
      for (auto& one : couriers) shakedown::store_release(&one.answered, sequence, true);
    }
    for (auto& device : devices) device.join();
    const std::string what = "two ranks of " + std::to_string(ranks[0].rows) + " and " + std::to_string(ranks[1].rows) +
                             " rows, " + std::to_string(width) + " columns";
    whole.picks.resize(static_cast<std::size_t>(width));
    checks.that(winners == whole.picks, "the pivots of " + what);
    checks.that(ranks[0].l1 == ranks[1].l1, "the same on both: " + what);
    checks.that(off(ranks[0].l1, whole.l1) < 1e-9, "the chosen rows of " + what);
    for (int c = 0; c < width; ++c) {
      for (Index r = width; r < whole.rows; ++r) {
        const auto& from = ranks[r < ranks[0].rows ? 0 : 1];
        const Index row = r < ranks[0].rows ? r : r - ranks[0].rows;
        const double found = from.local[static_cast<std::size_t>(row + c * from.rows)];
        if (!(std::fabs(found - whole.local[static_cast<std::size_t>(r + c * whole.rows)]) < 1e-9))
          checks.that(false, "L of " + what);
      }
    }
  }
}

void rows(Checks& checks, const Bench& bench) {
  Dice dice(9);
  for (int trial = 0; trial < 20; ++trial) {
    const auto width = static_cast<int>(dice.between(1, 70));
    const Index n = width + dice.between(1, 100);
    const auto columns = static_cast<int>(dice.between(1, 80));
    std::vector<Index> pivots;
    pivots.reserve(static_cast<std::size_t>(width));
    for (int i = 0; i < width; ++i) pivots.push_back(dice.between(i, n - 1));
    const auto plan = shakedown::hpl::plan_rows(0, pivots);
    const auto shares = shakedown::hpl::share_rows(plan, {64, 1}, 0);
    std::vector<int> at(shares.mine.begin(), shares.mine.end()), into(at.size(), -1);
    for (const auto& [from, to] : shares.kept) {
      for (std::size_t g = 0; g < at.size(); ++g) {
        if (at[g] == to) into[g] = static_cast<int>(from);
      }
    }
    std::vector<double> a(static_cast<std::size_t>(n * columns)), w(static_cast<std::size_t>((columns + 2) * width)), u;
    for (auto& value : a) value = static_cast<double>(dice.below(1 << 20));
    auto expected = a;
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < width; ++i)
        std::swap(expected[static_cast<std::size_t>(i + j * n)],
                  expected[static_cast<std::size_t>(pivots[static_cast<std::size_t>(i)] + j * n)]);
    }
    bench.kernels.gather({.blocks = static_cast<unsigned>(columns + 31) / 32, .threads = 64, .blocks_y = 2},
                         bench.stream, a.data(), n, {0, columns, columns, 0}, {at.data(), width}, into.data(), w.data(),
                         columns + 2);
    bench.kernels.turn({.blocks = static_cast<unsigned>(columns + 31) / 32, .threads = 64, .blocks_y = 2}, bench.stream,
                       w.data(), columns + 2, a.data(), n, width, columns);
    checks.that(a == expected, "rows exchanged: " + std::to_string(width) + " pivots, " + std::to_string(columns));
  }
}

void triangle(Checks& checks, const Bench& bench) {
  Dice dice(13);
  for (const int order : {1, 2, 31, 32, 33, 64, 100, 150}) {
    const Index lda = order + 3;
    std::vector<double> a(static_cast<std::size_t>(lda * order)), x(static_cast<std::size_t>(order)), y(x), found(x);
    for (auto& value : a) value = static_cast<double>(dice.between(-1000, 1000)) * 1e-4;
    for (int i = 0; i < order; ++i) {
      a[static_cast<std::size_t>(i + i * lda)] = 2 + static_cast<double>(dice.between(0, 1000)) * 1e-3;
      x[static_cast<std::size_t>(i)] = static_cast<double>(dice.between(-9, 9));
    }
    for (int j = 0; j < order; ++j) {
      for (int i = 0; i <= j; ++i)
        y[static_cast<std::size_t>(i)] += a[static_cast<std::size_t>(i + j * lda)] * x[static_cast<std::size_t>(j)];
    }
    bench.kernels.solve_upper({.blocks = 1, .threads = 64, .shared_bytes = static_cast<unsigned>(order) * 8},
                              bench.stream, a.data(), lda, order, y.data(), found.data());
    checks.that(off(found, x) < 1e-9, "an upper triangle of " + std::to_string(order));
    const std::size_t broken = x.size() / 2;  // what is below it is not touched by it, what is above never passes
    auto singular = a;
    singular[broken * static_cast<std::size_t>(lda + 1)] = 0;
    std::vector<double> lost(x.size());
    bench.kernels.solve_upper({.blocks = 1, .threads = 64, .shared_bytes = static_cast<unsigned>(order) * 8},
                              bench.stream, singular.data(), lda, order, y.data(), lost.data());
    bool below = true, above = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i > broken) below = below && lost[i] == found[i];
      if (i <= broken) above = above || std::isfinite(lost[i]);
    }
    checks.that(below && !above, "zero on the diagonal of an upper triangle of " + std::to_string(order));
    std::vector<double> sums(x.size(), 1), right(x.size(), 1);
    for (int j = 0; j < order; ++j) {
      for (int i = 0; i < order; ++i)
        right[static_cast<std::size_t>(i)] -= a[static_cast<std::size_t>(i + j * lda)] * x[static_cast<std::size_t>(j)];
    }
    bench.kernels.take_off({.blocks = static_cast<unsigned>(order + 31) / 32, .threads = 64}, bench.stream, a.data(),
                           lda, order, order, x.data(), sums.data());
    checks.that(off(sums, right) < 1e-9, "A x taken off, " + std::to_string(order));
  }
}

void shapes(Checks& checks) {
  for (const Index rows : {0, 1, 31, 32, 500, 513, 4000, 60000, 131072, 400000}) {
    for (const unsigned most : {1u, 4u, 33u, 132u}) {
      for (const std::size_t shared : {std::size_t{0}, std::size_t{100} << 10, std::size_t{227} << 10}) {
        for (const int width : {1, 7, 32}) {
          const auto shape = base_shape(rows, width, {most, shared, 512});
          const std::string what = std::to_string(rows) + " rows, at most " + std::to_string(most) + " blocks";
          checks.that(shape.blocks >= 1 && shape.blocks <= most, "blocks: " + what);
          checks.that(static_cast<Index>(shape.blocks) * shape.each >= rows, "all rows: " + what);
          checks.that(shape.shared_bytes <= shared, "shared memory: " + what);
          checks.that(!shape.resident || shape.shared_bytes == shape.each * width * 8, "resident: " + what);
        }
      }
    }
  }
}

}  // namespace

int main() {
  Checks checks;
  const Bench bench;
  matrix(checks, bench);
  base(checks, bench);
  couriers(checks, bench);
  rows(checks, bench);
  triangle(checks, bench);
  shapes(checks);
  return checks.end();
}
