// The BLAS of a run: the one that was named, or the first of those that are commonly installed.
#pragma once

#include <string>

#include "common/blas.hpp"
#include "common/error.hpp"

namespace shakedown::hpl {

/// Loaded for one thread: the program's own threads call it. Throws "could not measure" where there is none.
inline Blas load_blas(const std::string& path) {
  if (!path.empty()) return Blas::load(path, 1);
  for (const char* name : {"libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2", "libblis.so.4", "libblas.so.3"}) {
    try {
      return Blas::load(name, 1);
    } catch (const Error&) {  // not here: the next
    }
  }
  throw cannot("no BLAS library was found", "name one with --library; 'shakedown machine' lists those found");
}

}  // namespace shakedown::hpl
