// One core of this host.
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "burnin.hpp"
#include "common/affinity.hpp"
#include "common/clock.hpp"
#include "common/isa.hpp"
#include "memory.hpp"
#include "product.hpp"

namespace shakedown::burnin {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

class Cpu final : public Device {
 public:
  explicit Cpu(const CpuOptions& options)
      : cpu_(options.cpu), product_(kernel(choose_isa(options.isa, kernel_names()))) {
    if (options.memory_bytes == 0) return;
    require_memory(options.memory_bytes, "the memory patterns");
    memory_ = Buffer(options.memory_bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t), Pages::huge);
    // Locked, so that no page is swapped or moved while it is looked at; whoever may not lock much tests unlocked
    // pages.
    locked_ = mlock(memory_.data(), memory_.bytes()) == 0;
    if (!locked_) why_not_locked_ = std::strerror(errno);
    test_ = std::make_unique<MemoryTest>(memory_.as<std::uint64_t>());
  }

  [[nodiscard]] Object facts() const override {
    Object facts;
    facts.add("cpu", cpu_).add("isa", product_.isa()).add("rows", product_.rows()).add("columns", product_.columns());
    facts.add("memory_bytes", memory_.bytes()).add("memory_locked", locked_).add("memory_not_locked", why_not_locked_);
    return facts;
  }

  bool renew(std::uint64_t seed, bool (*stop)()) override { return product_.renew(seed, stop); }

  void product(Tally& tally, std::vector<Fault>& faults) override {
    const double begin = now_s();
    product_.multiply();
    const Defects defects = product_.check();
    tally.product_s += now_s() - begin;
    tally.flop += product_.flop();
    ++tally.products;
    tally.faults += defects.count;
    for (const auto& one : defects.located) faults.push_back(told(one));
    if (defects.count > 0 && defects.located.empty()) {
      Fault fault;
      fault.where = "sums";
      fault.located = false;
      fault.again = "the sums of rows or columns were wrong, and every entry was right when it was looked at again";
      faults.push_back(fault);
    }
  }

  void memory(Tally& tally, std::vector<Fault>& faults) override {
    if (test_ == nullptr) return product(tally, faults);
    const double begin = now_s();
    const std::string pattern = test_->march().piece().pattern.name;
    test_->step();
    tally.memory_s += now_s() - begin;
    tally.memory_bytes = test_->march().bytes();
    tally.passes = test_->march().passes();
    tally.faults += test_->wrong_words();
    for (const auto& one : test_->wrong()) {
      Fault fault;
      fault.where = "memory";
      fault.place.add("offset_bytes", one.offset_bytes).add("pattern", pattern);
      if (one.physical != 0) fault.place.add("physical", hexadecimal(one.physical));
      fault.expected = one.expected;
      fault.found = one.found;
      fault.hard = one.hard;
      fault.again = std::string(one.again ? "read again it was wrong still" : "read again it was right") +
                    (one.hard ? ", written again it was wrong again" : ", written again it was right");
      faults.push_back(fault);
    }
  }

  bool drill(const std::string& kind) override {
    if (kind == "result")
      product_.drill(Product::Drill::result);
    else if (kind == "result-always")
      product_.drill(Product::Drill::result_always);
    else if (kind == "operand")
      product_.drill(Product::Drill::operand);
    else if (kind == "memory" && test_ != nullptr)
      test_->drill(MemoryTest::Drill::flip);
    else if (kind == "memory-always" && test_ != nullptr)
      test_->drill(MemoryTest::Drill::flip_always);
    else
      return false;
    return true;
  }

 private:
  static Fault told(const Wrong& one) {
    Fault fault;
    fault.where = one.where == Wrong::Where::result ? "result" : one.where == Wrong::Where::left ? "left" : "right";
    fault.place.add("row", one.row).add("column", one.column);
    fault.place.add("tile", std::vector<std::int64_t>{one.tile_row, one.tile_column});
    fault.expected = one.expected;
    fault.found = one.found;
    fault.hard = one.hard;
    if (one.where == Wrong::Where::result) {
      fault.again = one.hard ? "computed again it was wrong again" : "computed again it was right";
    } else {
      fault.again = "an operand changed after it was written; ";
      fault.again += one.hard ? "written again it was wrong again" : "written again it was right";
    }
    return fault;
  }

  int cpu_;
  Product product_;
  Buffer memory_;
  bool locked_ = false;
  std::string why_not_locked_;
  std::unique_ptr<MemoryTest> test_;
};

}  // namespace

std::unique_ptr<Device> open_cpu(const CpuOptions& options) {
  pin_thread(options.cpu);
  return std::make_unique<Cpu>(options);
}

}  // namespace shakedown::burnin
