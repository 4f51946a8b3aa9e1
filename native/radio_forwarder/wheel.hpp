// A timer wheel: what is due at some time, taken out in order. Adding and taking cost the same however many wait.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace shakedown::radio_forwarder {

/// A hashed wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 6). Nothing is taken
/// before it is due, nor a tick after where `take` is called in time; however late that is, in the order of ticks, and
/// within one in the order of adding. Times are of one monotonic clock, in ns.
class Wheel {
 public:
  static constexpr std::int64_t kTickNs = 4096;
  static constexpr std::size_t kSlots = 65536;  // a turn is 0.27 s; what is due later stays for more turns
  static constexpr std::int64_t kNothing = INT64_MAX;

  explicit Wheel(std::int64_t now_ns) : tick_(now_ns / kTickNs), slots_(kSlots), used_(kSlots / 64) {}

  void add(std::int64_t due_ns, std::uint32_t what) {
    std::int64_t tick = (due_ns + kTickNs - 1) / kTickNs;
    if (tick <= tick_) tick = tick_ + 1;
    std::uint32_t entry = free_;
    if (entry == kEnd) {
      entry = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({});
    } else {
      free_ = entries_[entry].next;
    }
    entries_[entry] = {tick, what, kEnd};
    append(static_cast<std::size_t>(tick) % kSlots, entry);
    ++size_;
  }

  /// Call take(what) for all that is due.
  template <class Take>
  void take(std::int64_t now_ns, Take&& taker) {
    const std::int64_t now = now_ns / kTickNs;
    if (now <= tick_) return;
    std::int64_t tick = tick_ + 1;
    tick_ = now;  // what `taker` adds lies behind this
    if (now - tick >= static_cast<std::int64_t>(kSlots)) return take_late(now, taker);
    const auto each = [&taker](std::int64_t, std::uint32_t what) { taker(what); };
    while (size_ > 0 && (tick = next_used(tick)) <= now)
      take_slot(static_cast<std::size_t>(tick++) % kSlots, now, each);
  }

  /// When `take` should be called next; never later than the first due time's tick.
  [[nodiscard]] std::int64_t next_ns() const { return size_ == 0 ? kNothing : next_used(tick_ + 1) * kTickNs; }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  struct Entry {
    std::int64_t tick = 0;
    std::uint32_t what = 0;
    std::uint32_t next = kEnd;
  };
  struct Slot {
    std::uint32_t first = kEnd, last = kEnd;
  };

  void append(std::size_t slot, std::uint32_t entry) {
    entries_[entry].next = kEnd;
    if (slots_[slot].first == kEnd) {
      slots_[slot].first = entry;
      used_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    } else {
      entries_[slots_[slot].last].next = entry;
    }
    slots_[slot].last = entry;
  }

  /// Whoever comes later than a turn finds what is due at several turns in one slot.
  template <class Take>
  void take_late(std::int64_t now, Take& taker) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> late;
    const auto keep = [&late](std::int64_t tick, std::uint32_t what) { late.emplace_back(tick, what); };
    for (std::int64_t tick = now - static_cast<std::int64_t>(kSlots) + 1; size_ > 0 && (tick = next_used(tick)) <= now;)
      take_slot(static_cast<std::size_t>(tick++) % kSlots, now, keep);
    std::ranges::stable_sort(late, {}, &std::pair<std::int64_t, std::uint32_t>::first);
    for (const auto& one : late) taker(one.second);
  }

  template <class Take>
  void take_slot(std::size_t slot, std::int64_t now, const Take& taker) {
    std::uint32_t entry = slots_[slot].first;
    slots_[slot] = {};
    used_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    while (entry != kEnd) {
      const std::uint32_t next = entries_[entry].next;
      if (entries_[entry].tick > now) {
        append(slot, entry);  // of a later turn
      } else {
        const std::int64_t tick = entries_[entry].tick;
        const std::uint32_t what = entries_[entry].what;
        entries_[entry].next = free_;
        free_ = entry;
        --size_;
        taker(tick, what);
      }
      entry = next;
    }
  }

  /// The first tick from this one on, within a turn, whose slot holds something.
  [[nodiscard]] std::int64_t next_used(std::int64_t from) const {
    const auto begin = static_cast<std::size_t>(from) % kSlots;
    for (std::size_t step = 0; step <= kSlots / 64; ++step) {
      const std::size_t word = (begin / 64 + step) % (kSlots / 64);
      std::uint64_t bits = used_[word];
      if (step == 0) bits &= ~std::uint64_t{0} << (begin % 64);
      if (bits == 0) continue;
      const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return from + static_cast<std::int64_t>((slot + kSlots - begin) % kSlots);
    }
    return from + static_cast<std::int64_t>(kSlots);
  }

  std::int64_t tick_;  // all before and in it has been taken
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> used_;
  std::vector<Entry> entries_;
  std::uint32_t free_ = kEnd;
  std::size_t size_ = 0;
};

}  // namespace shakedown::radio_forwarder
