// Rows that leave their places and rows that come: the lists on the device, and their way through a process column.
#pragma once

#include "calls.hpp"
#include "hpl/exchange.hpp"
#include "hpl_gpu.hpp"

namespace shakedown::hpl_gpu {

/// What share_rows found, for kernels: made on the host, then copied to the device.
class Lists {
 public:
  Lists() = default;
  /// Room for so many pivots.
  Lists(gpu::Device& device, Index most);
  static std::size_t bytes(Index most) { return static_cast<std::size_t>(kLists * most) * sizeof(int); }

  /// `first` is the local row that counts as 0.
  void fill(hpl::RowShares shares, Index first);
  void upload(gpu::Device& device, gpu::Handle stream) const;

  [[nodiscard]] const hpl::RowShares& shares() const { return shares_; }
  [[nodiscard]] Rows mine() const { return rows(0, shares_.mine.size()); }  // rows of U that are here
  [[nodiscard]] const int* into() const { return device_.data() + most_; }  // what comes into their places; -1: later
  [[nodiscard]] Rows sent() const { return rows(2, sent_); }                // rows that others get
  [[nodiscard]] Rows received() const { return rows(3, shares_.received.size()); }
  [[nodiscard]] Rows order() const { return rows(4, shares_.order.size()); }

 private:
  static constexpr Index kLists = 5;
  [[nodiscard]] Rows rows(Index which, std::size_t count) const {
    return {device_.data() + which * most_, static_cast<int>(count)};
  }

  Index most_ = 0;
  std::size_t sent_ = 0;
  hpl::RowShares shares_;
  gpu::Array<int> device_, host_;
};

/// The rows of one range of columns at a time, on their way: pack -> begin -> poll until there -> unpack. With one
/// process row packing is all. Rows lie transposed: row g of the gathered ones begins at gathered() + g ld().
class Mover {
 public:
  Mover() = default;
  /// Room for `rows` rows of `columns` columns. With `travels` they go through messages, which with `staged` start and
  /// end in memory of the host; `number` keeps its messages apart.
  Mover(gpu::Device& device, Index rows, Index columns, bool travels, bool staged, int number);
  static Index width_for(Index columns) { return hpl::round_up(std::max<Index>(1, columns), kTile); }
  /// Doubles on the device, and pinned.
  static std::pair<double, double> doubles(Index rows, Index columns, bool travels, bool staged);

  /// Rows of so many columns are to be packed: ld().
  void expect(Index columns) { ld_ = width_for(columns); }
  void pack(const Calls& calls, const Lists& lists, double* a, Index lda, const Columns& columns, int me,
            gpu::Handle stream);
  /// Only the MPI thread, and once what was packed is there.
  void begin(const Grid& grid, bool binary);
  /// Move on what can be moved on; true once all is here, or nothing is on its way.
  bool poll();
  void unpack(const Calls& calls, double* a, Index lda, gpu::Handle stream) const;

  /// The memory that messages start and end in.
  [[nodiscard]] std::pair<double*, std::size_t> transport() const {
    const auto& one = staged_ ? host_ : device_;
    return {one.data(), one.size()};
  }
  [[nodiscard]] const double* gathered() const { return device_.data(); }
  [[nodiscard]] Index ld() const { return ld_; }

 private:
  void copy(gpu::Device& device, double* to, const double* from, Index at, Index rows, gpu::Handle stream) const;

  bool staged_ = false, moving_ = false;
  Index room_ = 0, ld_ = 0, begin_ = 0, mine_ = 0;
  const Lists* lists_ = nullptr;
  Columns columns_;
  gpu::Array<double> device_, host_;  // gathered, arrived, leaving: as RowExchange has them
  hpl::RowExchange exchange_;
};

}  // namespace shakedown::hpl_gpu
