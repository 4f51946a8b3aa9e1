// The arguments of the fft program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "fft.hpp"
#include "fftw.hpp"

namespace shakedown::fft {

struct Options {
  std::string library, label, cpus, wisdom, save_wisdom, plan;
  std::vector<Shape> shapes;
  std::vector<std::int64_t> threads;
  bool in_double = false, in_single = false;
  bool together = false, each = false;  // one transform by all threads; one for every thread by itself
  bool warm = false, cold = false;      // the same arrays again and again; so many that none is in a cache
  Effort effort = Effort::measure;
  double seconds = 0, sample_flop = 0, plan_limit = 0;
  std::int64_t samples = 0, seed = 0;
  std::string page_word;
  Pages pages = Pages::huge;
  bool verify = true;

  /// Transforms of one sample.
  [[nodiscard]] std::int64_t calls_of(const Shape& shape) const {
    return std::max<std::int64_t>(1, std::llround(std::ceil(sample_flop / shape.flop())));
  }
  [[nodiscard]] std::size_t cases() const {
    return shapes.size() * threads.size() * (in_double + in_single) * (together + each) * (warm + cold);
  }
};

Options parse_options(int argc, char** argv);

}  // namespace shakedown::fft
