#include "exchange.hpp"

#include <cstring>

namespace shakedown::hpl {

std::size_t RowExchange::bytes(Index rows, Index columns) {
  return static_cast<std::size_t>(3 * rows * std::max<Index>(columns, 1)) * sizeof(double);
}

RowExchange::RowExchange(Index rows, Index columns, int slot, Pages pages)
    : slot_(slot),
      memory_(bytes(rows, columns), pages),
      base_(static_cast<double*>(memory_.data())),
      room_(rows * std::max<Index>(columns, 1)) {}

RowExchange::RowExchange(Index rows, Index columns, int slot, double* memory)
    : slot_(slot), base_(memory), room_(rows * std::max<Index>(columns, 1)) {}

void RowExchange::begin(const RowShares& shares, const Grid& grid, bool binary, Index first, Index last) {
  shares_ = &shares;
  comm_ = grid.in_column;
  me_ = grid.row;
  size_ = grid.p;
  binary_ = binary;
  begin_ = first;
  end_ = last;
  width_ = last - first;
  u_ = base_;
  in_ = u_ + room_;
  out_ = in_ + room_;
  step_ = 0;
}

void RowExchange::pack(const double* matrix, Index lda, Index first, Index last) {
  const auto bytes = static_cast<std::size_t>(last - first) * sizeof(double);
  Index g = shares_->begins[static_cast<std::size_t>(me_)];
  for (const Index row : shares_->mine) std::memcpy(gathered(g++, first), matrix + row * lda + first, bytes);
  double* out = out_ + (first - begin_);
  for (const auto& list : shares_->sent) {
    for (const Index row : list) {
      std::memcpy(out, matrix + row * lda + first, bytes);
      out += width_;
    }
  }
}

void RowExchange::start() {
  const double* out = out_;
  for (int to = 0; to < size_; ++to) {
    const auto rows = static_cast<Index>(shares_->sent[static_cast<std::size_t>(to)].size());
    sends_.send(out, rows * width_, to, displaced_tag(), comm_);
    out += rows * width_;
  }
  if (!shares_->received.empty()) {
    displaced_.receive(in_, static_cast<Index>(shares_->received.size()) * width_, shares_->source_row, displaced_tag(),
                       comm_);
  }
  step();
}

/// Post the next step of the gathering, where there is one.
void RowExchange::step() {
  if (binary_) {  // log2 P steps: what I hold doubles, counted round the circle from my own piece on
    const int distance = 1 << step_;
    if (distance >= size_) return;
    const int count = std::min(distance, size_ - distance);
    send_circle(me_, count, (me_ - distance + size_) % size_);
    receive_circle((me_ + distance) % size_, count, (me_ + distance) % size_);
  } else {  // P - 1 steps: pass on what came last
    if (step_ >= size_ - 1) return;
    send_circle((me_ - step_ + size_) % size_, 1, (me_ + 1) % size_);
    receive_circle((me_ - step_ - 1 + size_) % size_, 1, (me_ - 1 + size_) % size_);
  }
}

void RowExchange::send_circle(int first, int count, int to) {
  const auto& begins = shares_->begins;
  const auto at = [&](int piece) { return begins[static_cast<std::size_t>(piece)]; };
  const int end = std::min(first + count, size_);
  sends_.send(u_ + at(first) * width_, (at(end) - at(first)) * width_, to, tag(), comm_);
  if (first + count > size_) sends_.send(u_, at(first + count - size_) * width_, to, tag(), comm_);
}

void RowExchange::receive_circle(int first, int count, int from) {
  const auto& begins = shares_->begins;
  const auto at = [&](int piece) { return begins[static_cast<std::size_t>(piece)]; };
  const int end = std::min(first + count, size_);
  receives_.receive(u_ + at(first) * width_, (at(end) - at(first)) * width_, from, tag(), comm_);
  if (first + count > size_) receives_.receive(u_, at(first + count - size_) * width_, from, tag(), comm_);
}

bool RowExchange::poll() {
  while (receives_.done()) {
    const bool last = binary_ ? (1 << step_) >= size_ : step_ >= size_ - 1;
    if (last) return displaced_.done() && sends_.done();
    ++step_;
    step();
  }
  return false;
}

}  // namespace shakedown::hpl
