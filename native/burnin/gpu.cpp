// One GPU: products by cuBLAS, compared to the bit with the first of their kind, which the host has checked.
#include "gpu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "common/clock.hpp"
#include "entries.hpp"

namespace shakedown::burnin {
namespace {

using Word = unsigned long long;
constexpr int kOthers = 2;                            // B, in turn: a C that was not written is wrong
constexpr std::size_t kChunk = std::size_t{1} << 27;  // words of one step of a march: 1 GiB, half a millisecond
constexpr double kShare = 0.95;                       // of the free memory, for the patterns
constexpr gpu::Grid kGrid{.blocks = 2048, .threads = 256};

std::string plain(const std::string& pci) {  // "00000000:9B:00.0" and "0000:9b:00" are one address
  std::string out;
  for (const char c : pci) out += static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  if (out.size() > 12 && out.starts_with("0000") && out[8] == ':') out = out.substr(4);
  return out.substr(0, out.find('.'));
}

class GpuDevice final : public Device {
 public:
  GpuDevice(std::unique_ptr<gpu::Device> device, const GpuOptions& options)
      : device_(std::move(device)),
        n_(options.order),
        stream_(*device_),
        a_(*device_, size()),
        c_(*device_, size()),
        wrongs_(*device_, 1),
        told_(*device_, 1, gpu::Memory::pinned),
        make_(*device_, kModule, "operands"),
        check_(*device_, kModule, "check_operands"),
        compare_(*device_, kModule, "compare"),
        patterns_(*device_, kModule, "patterns") {
    for (int which = 0; which < kOthers; ++which) {
      b_[which] = gpu::Array<double>(*device_, size());
      expected_[which] = gpu::Array<double>(*device_, size());
    }
    multiply(0, c_);  // cuBLAS takes its workspace at the first call
    stream_.wait();
    const auto room = static_cast<std::uint64_t>(kShare * static_cast<double>(device_->free_bytes()));
    const std::uint64_t bytes = options.most_memory ? room : options.memory_bytes;
    if (bytes > room)
      throw gpu::Failure(gpu::State::out_of_memory, "the memory patterns need more than is free on the GPU",
                         "ask for less, or for auto");
    if (bytes < sizeof(Word)) return;
    words_ = gpu::Array<Word>(*device_, bytes / sizeof(Word));
    march_ = std::make_unique<March>(words_.size(), std::min(kChunk, std::max<std::size_t>(1, words_.size() / 8)));
  }

  [[nodiscard]] Object facts() const override {
    Object facts = gpu::facts(device_->info());
    facts.add("order", n_).add("library", device_->blas().title()).add("pattern_bytes", words_.bytes());
    return facts;
  }

  bool renew(std::uint64_t seed, bool (*stop)()) override {
    stream_number_ = static_cast<unsigned>(seed % 1'000'000) * (1 + kOthers);
    make_(kGrid, stream_, a_.data(), stream_number_, size());
    for (int which = 0; which < kOthers; ++which) {
      make_(kGrid, stream_, b_[which].data(), number_of(which), size());
      multiply(which, expected_[which]);
    }
    stream_.wait();
    for (int which = 0; which < kOthers; ++which) {
      if (stop()) return false;
      check_reference(which);
    }
    return true;
  }

  void product(Tally& tally, std::vector<Fault>& faults) override {
    const double begin = now_s();
    if (!pending_.empty()) {  // what the host found wrong in a reference
      tally.faults += std::ssize(pending_);
      faults.insert(faults.end(), pending_.begin(), pending_.end());
      pending_.clear();
    }
    which_ = 1 - which_;
    multiply(which_, c_);
    apply_drill();
    const Wrongs first = compared();
    if (first.count > 0) {
      tally.faults += static_cast<std::int64_t>(first.count);
      explain(first, faults);
    }
    tally.product_s += now_s() - begin;
    const auto n = static_cast<double>(n_);
    tally.flop += 2 * n * n * n;
    ++tally.products;
  }

  void memory(Tally& tally, std::vector<Fault>& faults) override {
    if (march_ == nullptr) return product(tally, faults);
    const double begin = now_s();
    const Piece piece = march_->piece();
    if (piece.reads && (drill_ == "memory" || drill_ == "memory-always")) {
      flip(words_.data() + piece.begin, 42);
      if (drill_ == "memory") drill_.clear();
    }
    const Wrongs wrong = marched(piece, true);
    march_->advance();
    tally.memory_s += now_s() - begin;
    tally.memory_bytes = march_->bytes();
    tally.passes = march_->passes();
    tally.faults += static_cast<std::int64_t>(wrong.count);
    const Word most = std::min<Word>(wrong.count, Wrongs::kMost);
    for (Word i = 0; i < most; ++i) {
      Fault fault;
      fault.where = "memory";
      fault.place.add("offset_bytes", wrong.index[i] * sizeof(Word)).add("pattern", piece.pattern.name);
      fault.expected = wrong.expected[i];
      fault.found = wrong.found[i];
      fault.hard = written_again(wrong.index[i], wrong.expected[i]) != wrong.expected[i];
      fault.again = fault.hard ? "written again it was wrong again" : "written again it was right";
      faults.push_back(fault);
      if (piece.writes) written_again(wrong.index[i], wrong.expected[i] ^ piece.invert ^ piece.next);
    }
  }

  bool drill(const std::string& kind) override {
    const bool of_memory = kind == "memory" || kind == "memory-always";
    if (kind != "result" && kind != "result-always" && kind != "operand" && !of_memory) return false;
    if (of_memory && march_ == nullptr) return false;
    drill_ = kind;
    return true;
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_ * n_); }
  [[nodiscard]] unsigned number_of(int which) const { return stream_number_ + 1 + static_cast<unsigned>(which); }

  void multiply(int which, const gpu::Array<double>& to) {
    gpu::Product product;
    product.m = product.n = product.k = product.lda = product.ldb = product.ldc = n_;
    product.a = a_.data();
    product.b = b_[which].data();
    product.c = to.data();
    device_->blas().gemm(product, stream_);
  }

  Wrongs read_wrongs() {
    device_->copy(told_.data(), wrongs_.data(), sizeof(Wrongs), stream_);
    stream_.wait();
    return *told_.data();
  }
  Wrongs compared() {
    device_->fill(wrongs_.data(), 0, sizeof(Wrongs), stream_);
    compare_(kGrid, stream_, c_.data(), expected_[which_].data(), size(), wrongs_.data());
    return read_wrongs();
  }
  Wrongs marched(const Piece& piece, bool writes) {
    device_->fill(wrongs_.data(), 0, sizeof(Wrongs), stream_);
    patterns_(kGrid, stream_, words_.data(), static_cast<unsigned>(piece.pattern.kind), piece.pattern.key, piece.begin,
              piece.end, piece.invert, piece.next, piece.reads ? 1U : 0U, piece.writes && writes ? 1U : 0U,
              wrongs_.data());
    return read_wrongs();
  }

  void flip(void* at, int bit) {
    Word word = 0;
    device_->copy(&word, at, sizeof word, stream_);
    stream_.wait();
    word ^= Word{1} << bit;
    device_->copy(at, &word, sizeof word, stream_);
    stream_.wait();
  }
  Word written_again(Word index, Word value) {
    device_->copy(words_.data() + index, &value, sizeof value, stream_);
    stream_.wait();
    Word seen = 0;
    device_->copy(&seen, words_.data() + index, sizeof seen, stream_);
    stream_.wait();
    if (drill_ == "memory-always") seen ^= Word{1} << 42;
    return seen;
  }

  void apply_drill() {
    if (drill_ == "result" || drill_ == "result-always") flip(c_.data() + size() / 3, 21);
    if (drill_ == "operand") {
      flip(a_.data() + size() / 3, 51);
      multiply(which_, c_);
    }
    if (drill_ == "result" || drill_ == "operand") drill_.clear();
  }

  /// Whether an operand changed; if not, whether the product is wrong again.
  void explain(const Wrongs& first, std::vector<Fault>& faults) {
    bool operand = false;
    for (const bool left : {true, false}) {
      double* const at = left ? a_.data() : b_[which_].data();
      const unsigned number = left ? stream_number_ : number_of(which_);
      device_->fill(wrongs_.data(), 0, sizeof(Wrongs), stream_);
      check_(kGrid, stream_, at, number, size(), wrongs_.data());
      const Wrongs changed = read_wrongs();
      if (changed.count == 0) continue;
      operand = true;
      make_(kGrid, stream_, at, number, size());
      device_->fill(wrongs_.data(), 0, sizeof(Wrongs), stream_);
      check_(kGrid, stream_, at, number, size(), wrongs_.data());
      const bool hard = read_wrongs().count > 0;
      push(changed, left ? "left" : "right", hard,
           std::string("an operand changed after it was written; ") +
               (hard ? "written again it was wrong again" : "written again it was right"),
           faults);
    }
    if (operand) return;
    multiply(which_, c_);
    if (drill_ == "result-always") apply_drill();
    const bool hard = compared().count > 0;
    push(first, "result", hard, hard ? "computed again it was wrong again" : "computed again it was right", faults);
  }

  void push(const Wrongs& wrongs, const std::string& where, bool hard, const std::string& again,
            std::vector<Fault>& faults) const {
    constexpr std::int64_t kTile = 128;  // rows and columns of what one block of a product computes, about
    const Word most = std::min<Word>(wrongs.count, Wrongs::kMost);
    for (Word i = 0; i < most; ++i) {
      const auto index = static_cast<std::int64_t>(wrongs.index[i]);
      const std::int64_t row = index % n_, column = index / n_;
      Fault fault;
      fault.where = where;
      fault.place.add("row", row).add("column", column);
      fault.place.add("tile", std::vector<std::int64_t>{row / kTile, column / kTile});
      fault.expected = wrongs.expected[i];
      fault.found = wrongs.found[i];
      fault.hard = hard;
      fault.again = again;
      faults.push_back(fault);
    }
  }

  /// The first product of new operands is what later ones are held against, so the host checks it: sums over its rows
  /// and columns against A (B e) and (e A) B of operands that the host makes itself (Huang and Abraham 1984).
  void check_reference(int which) {
    std::vector<double> c(size());
    device_->copy(c.data(), expected_[which].data(), c.size() * sizeof(double), stream_);
    stream_.wait();
    const auto n = static_cast<std::size_t>(n_);
    std::vector<double> be(n), ea(n), rows(n), columns(n), abe(n), eab(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        be[i] += gpu_operand(number_of(which), i + j * n);
        ea[j] += gpu_operand(stream_number_, i + j * n);
        rows[i] += c[i + j * n];
        columns[j] += c[i + j * n];
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < n; ++i) abe[i] += gpu_operand(stream_number_, i + k * n) * be[k];
    }
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) eab[j] += ea[k] * gpu_operand(number_of(which), k + j * n);
    }
    // Sums of n terms, each a sum of n products below 1: rounding of random signs grows like n^1.5 eps.
    const double limit = 64 * 0x1p-52 * static_cast<double>(n) * std::sqrt(static_cast<double>(n));
    const auto worst = [&](const std::vector<double>& one, const std::vector<double>& other) {
      std::size_t at = 0;
      double most = -1;
      for (std::size_t i = 0; i < n; ++i) {
        const double difference = std::fabs(one[i] - other[i]);
        if (!(difference <= most)) most = std::isnan(difference) ? HUGE_VAL : difference, at = i;
      }
      return std::pair{at, most};
    };
    const auto [row, in_row] = worst(rows, abe);
    const auto [column, in_column] = worst(columns, eab);
    if (in_row <= limit && in_column <= limit) return;
    Fault fault;
    fault.where = "result";
    fault.located = false;
    fault.place.add("row", row).add("column", column).add("row_sum_off_by", in_row).add("column_sum_off_by", in_column);
    fault.place.add("limit", limit);
    fault.again = "the sums of a first product differ from what the host finds for its operands";
    pending_.push_back(fault);
  }

  std::unique_ptr<gpu::Device> device_;
  std::int64_t n_;
  gpu::Stream stream_;
  gpu::Array<double> a_, b_[kOthers], c_, expected_[kOthers];
  gpu::Array<Wrongs> wrongs_, told_;
  gpu::Array<Word> words_;
  gpu::Kernel<double*, unsigned, std::size_t> make_;
  gpu::Kernel<const double*, unsigned, std::size_t, Wrongs*> check_;
  gpu::Kernel<const double*, const double*, std::size_t, Wrongs*> compare_;
  gpu::Kernel<Word*, unsigned, Word, std::size_t, std::size_t, Word, Word, unsigned, unsigned, Wrongs*> patterns_;
  std::unique_ptr<March> march_;
  std::vector<Fault> pending_;
  unsigned stream_number_ = 0;
  int which_ = 0;
  std::string drill_;
};

/// Let this process see its GPU alone. With an address the number counts over all GPUs, as nvidia-smi does: in the
/// order of the bus. Without one it counts among those that the process was given, whose list may hold UUIDs.
void see_alone(const GpuOptions& options) {
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  if (given == nullptr || !options.pci.empty()) {
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    setenv("CUDA_VISIBLE_DEVICES", std::to_string(options.index).c_str(), 1);
    return;
  }
  std::istringstream words(given);
  std::string word;
  for (int index = 0; std::getline(words, word, ','); ++index) {
    if (index != options.index) continue;
    setenv("CUDA_VISIBLE_DEVICES", word.c_str(), 1);
    return;
  }
  throw cannot("GPU " + std::to_string(options.index) + " is none of those that this process may use: " + given,
               "--device gpu:0 is the first word of CUDA_VISIBLE_DEVICES");
}

}  // namespace

std::unique_ptr<Device> open_gpu(const GpuOptions& options) {
  gpu::Choice choice = options.choice;
  choice.devices = std::to_string(options.index);
  if (choice.backend == "cuda") {
    see_alone(options);
    choice.devices = "0";
  }
  auto devices = gpu::open(choice);
  const std::string pci = plain(devices.front()->info().pci);
  if (!options.pci.empty() && !pci.empty() && pci != plain(options.pci))
    throw cannot("GPU " + std::to_string(options.index) + " is at " + pci + " and not at " + options.pci,
                 "the driver counts otherwise here: name the GPUs by --devices");
  return std::make_unique<GpuDevice>(std::move(devices.front()), options);
}

}  // namespace shakedown::burnin
