// A BLAS chosen at run time: load it by its path, learn what it is, say how many threads it uses, call it.
//
// Nothing is linked: one build of a program measures every library of a site. See the notes in blas.cpp for how
// integers of 32 and 64 bits and the spellings of the symbols are told apart.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "json.hpp"

namespace shakedown {

/// One loaded library. It stays loaded to the end of the program: thread pools do not survive unloading.
struct Blas {
  using Int = std::int64_t;

  std::string path;         // the real file that dgemm lies in, or was looked up through
  std::string name;         // openblas, blis, aocl, mkl, nvpl, armpl, flexiblas, atlas; else the stem of the file
  std::string version;      // as the library says it; empty where it does not
  std::string kernel;       // the core that it chose its kernels for; empty where it does not say
  std::string threading;    // pthread, openmp, serial or unknown
  std::string description;  // the library's own words
  std::string symbol;       // the spelling of dgemm that was found
  bool ilp64 = false;       // its integers have 64 bits
  bool sets_threads = false;

  /// Load the library at `path` for at most `threads` threads: the usual environment variables are set to that number
  /// first, for those libraries that read nothing else, and the affinity of the calling thread is what a library sees
  /// as its machine. Throws "could not measure" where it cannot be loaded or holds no DGEMM.
  static Blas load(const std::string& path, int threads);

  /// What is wrong with its kernels (text) and what to do about it (advice): that they are for processors without
  /// AVX-512, and this processor has it, which costs up to half of the rate. Empty where nothing is.
  struct Doubt {
    std::string text, advice;
  };
  [[nodiscard]] Doubt kernel_doubt() const;

  /// "openblas 0.3.21": the name and at most three parts of the version, or the name alone.
  [[nodiscard]] std::string title() const;
  [[nodiscard]] Object facts() const;

  /// Ask for that many threads; returns what the library then says that it uses, 0 where it does not say.
  int set_threads(int threads) const;

  /// C = alpha op(A) op(B) + beta C, column-major; trans is 'N' or 'T'.
  void gemm(char trans_a, char trans_b, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b,
            Int ldb, double beta, double* c, Int ldc) const;
  void gemm(char trans_a, char trans_b, Int m, Int n, Int k, float alpha, const float* a, Int lda, const float* b,
            Int ldb, float beta, float* c, Int ldc) const;

  /// Any other routine by its plain name ("dtrsm"), as a function pointer; null where there is none. It takes Fortran's
  /// arguments: all by address, integers as Int (little-endian, so a library with 32-bit integers reads the low half),
  /// and a std::size_t of 1 at the end for each character.
  template <class Function>
  [[nodiscard]] Function* routine(const std::string& plain) const {
    return reinterpret_cast<Function*>(dlsym(handle, (prefix + plain + suffix).c_str()));
  }

  // How it is reached; nothing that a caller needs.
  void* handle = nullptr;
  std::string prefix, suffix;
  void (*setter)(Int) = nullptr;
  int (*getter)() = nullptr;
  void (*dgemm_)() = nullptr;
  void (*sgemm_)() = nullptr;
};

namespace blas_detail {

/// The first word with a point between digits: "0.3.21" of "OpenBLAS 0.3.21 NO_LAPACKE".
std::string version_in(const std::string& text);

/// Fill in what MKL says of itself; false where the library is another. Its FFT (../fft) asks it too.
bool describe_mkl(Blas& blas);

}  // namespace blas_detail

}  // namespace shakedown
