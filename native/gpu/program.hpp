// What main does in a program on GPUs: devices one after another, where one that fails does not end the others.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "gpu.hpp"

namespace shakedown::gpu {

/// Tell of a device's failure: what failed, then the next step, as Error joins them.
inline void tell(Emitter& emitter, const Failure& failure) {
  const std::string said = failure.what();
  const auto cut = said.find("\n  next: ");
  emitter.notice(word(failure.state), said.substr(0, cut), cut == std::string::npos ? "" : said.substr(cut + 9));
  std::fprintf(stderr, "%s\n", said.c_str());
}

/// What one device is not measured at, for want of room or of a format: told each time. A device with nothing else
/// measured is one that could not be measured.
class LeftOut {
 public:
  LeftOut(Emitter& emitter, const Device& device, const char* code)
      : emitter_(emitter), name_(device.info().name), code_(code) {}

  void add(const std::string& what, const std::string& advice, State why = State::out_of_memory) {
    why_ = why;
    last_ = what;
    advice_ = advice;
    emitter_.notice(code_, name_ + ": " + what, advice);
  }
  void measured() { any_ = true; }
  /// Throws Failure with what was left out last, where nothing was measured. Call after the last case.
  void require_any() const {
    if (any_ || last_.empty()) return;
    throw Failure(why_, name_ + ": nothing was measured: " + last_, advice_);
  }

 private:
  Emitter& emitter_;
  std::string name_, code_, last_, advice_;
  State why_ = State::out_of_memory;
  bool any_ = false;
};

/// Run `work` on each device in turn. What a device refuses is a notice, and the exit code is then that of "could not
/// measure", whatever the others did.
inline int on_each(Emitter& emitter, const std::vector<std::unique_ptr<Device>>& devices,
                   const std::vector<Failure>& refused, const std::function<void(Device&)>& work) {
  for (const Failure& failure : refused) tell(emitter, failure);
  bool whole = refused.empty();
  for (const auto& device : devices) {
    try {
      work(*device);
    } catch (const Failure& failure) {
      tell(emitter, failure);
      whole = false;
    }
  }
  return !whole ? kCouldNotMeasure : emitter.ok() ? kOk : kCheckFailed;
}

/// The facts of all devices, for the start event.
inline Object all_facts(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<Json> each;
  each.reserve(devices.size());
  for (const auto& device : devices) each.push_back({to_json(facts(device->info()))});
  Object found;
  found.add("devices", each);
  return found;
}

/// Refuse words of an argument that are none of `all`, and an argument without a word.
template <std::size_t N>
void require_known(const std::vector<std::string>& words, const char* const (&all)[N], const std::string& name) {
  std::string shown;
  for (const char* one : all) shown.append(shown.empty() ? "" : ", ").append(one);
  for (const auto& word : words) {
    if (std::find(std::begin(all), std::end(all), word) == std::end(all))
      throw usage(std::string("--").append(name).append(": no '").append(word).append("'"), shown);
  }
  if (words.empty()) throw usage("--" + name + " names nothing", shown);
}

/// The level of the memory that so many bytes lie in: "l2" where they are at most half of the level-2 cache, "memory"
/// where they are at least four times as many, else empty; empty too where the cache is not known.
inline std::string level_of(std::size_t touched_bytes, std::size_t l2_bytes) {
  if (l2_bytes == 0) return "";
  return 2 * touched_bytes <= l2_bytes ? "l2" : touched_bytes >= 4 * l2_bytes ? "memory" : "";
}

/// Add which device a case was on.
inline void name_device(Object& params, const Info& info) { params.add("device", info.name).add("index", info.index); }

}  // namespace shakedown::gpu
