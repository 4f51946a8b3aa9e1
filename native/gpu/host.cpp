// The host backend: a device made of this host's threads. Every call is done when it returns, so streams are in order,
// events are the clock, and what a program does with them is tested without a GPU.
#include "host.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/clock.hpp"
#include "common/memory.hpp"
#include "formats.hpp"
#include "transforms.hpp"

namespace shakedown::gpu {
namespace {

double read(Format format, const void* at, std::size_t i) {
  switch (format) {
    case Format::f64:
      return static_cast<const double*>(at)[i];
    case Format::f32:
      return static_cast<double>(static_cast<const float*>(at)[i]);
    case Format::tf32:
      return static_cast<double>(to_tf32(static_cast<const float*>(at)[i]));
    case Format::bf16:
      return static_cast<double>(widen(static_cast<const std::uint16_t*>(at)[i], kBfloat));
    case Format::f16:
      return static_cast<double>(widen(static_cast<const std::uint16_t*>(at)[i], kHalf));
    case Format::i8:
      return static_cast<double>(static_cast<const std::int8_t*>(at)[i]);
    case Format::f8:
      return static_cast<double>(widen(static_cast<const std::uint8_t*>(at)[i], kE4m3));
  }
  return 0;
}

double read_result(Format format, const void* at, std::size_t i) {
  if (format == Format::i8) return static_cast<double>(static_cast<const std::int32_t*>(at)[i]);
  return read(format == Format::f8 ? Format::bf16 : format == Format::tf32 ? Format::f32 : format, at, i);
}

void write_result(Format format, void* at, std::size_t i, double value) {
  switch (format) {
    case Format::f64:
      static_cast<double*>(at)[i] = value;
      break;
    case Format::f32:
    case Format::tf32:
      static_cast<float*>(at)[i] = static_cast<float>(value);
      break;
    case Format::f16:
      static_cast<std::uint16_t*>(at)[i] = static_cast<std::uint16_t>(narrow(static_cast<float>(value), kHalf));
      break;
    case Format::i8:
      static_cast<std::int32_t*>(at)[i] = static_cast<std::int32_t>(value);
      break;
    default:
      static_cast<std::uint16_t*>(at)[i] = static_cast<std::uint16_t>(narrow(static_cast<float>(value), kBfloat));
  }
}

/// op(X) as doubles, column by column.
std::vector<double> unpacked(Format format, const void* at, bool turned, std::size_t rows, std::size_t columns,
                             std::size_t ld) {
  std::vector<double> out(rows * columns);
  parallel(
      columns,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j) {
          for (std::size_t i = 0; i < rows; ++i) out[j * rows + i] = read(format, at, turned ? i * ld + j : j * ld + i);
        }
      },
      16);
  return out;
}

class HostBlas final : public Blas {
 public:
  [[nodiscard]] std::string title() const override { return "host"; }
  [[nodiscard]] bool supports(Format) const override { return true; }

  void gemm(const Product& p, Handle) override {
    const auto m = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n), k = static_cast<std::size_t>(p.k);
    const auto ldc = static_cast<std::size_t>(p.ldc);
    const Format of_c = p.single_c ? Format::f32 : p.format;
    const auto a = unpacked(p.format, p.a, p.trans_a == 'T', m, k, static_cast<std::size_t>(p.lda));
    const auto b = unpacked(p.format, p.b, p.trans_b == 'T', k, n, static_cast<std::size_t>(p.ldb));
    parallel(
        n,
        [&](std::size_t begin, std::size_t end) {
          std::vector<double> column(m);
          for (std::size_t j = begin; j < end; ++j) {
            std::fill(column.begin(), column.end(), 0.0);
            for (std::size_t l = 0; l < k; ++l) {
              const double factor = b[j * k + l];
              for (std::size_t i = 0; i < m; ++i) column[i] += factor * a[l * m + i];
            }
            for (std::size_t i = 0; i < m; ++i) {
              const double before = p.beta == 0 ? 0 : p.beta * read_result(of_c, p.c, j * ldc + i);
              write_result(of_c, p.c, j * ldc + i, p.alpha * column[i] + before);
            }
          }
        },
        4);
  }

  void trsm(const Triangular& solve, Handle) override { solve_triangle(solve); }
  void trsm_single(const TriangularSingle& solve, Handle) override { solve_triangle(solve); }

 private:
  /// Sums are double, whatever the type.
  template <class T>
  static void solve_triangle(const TriangularOf<T>& t) {
    const auto m = static_cast<std::size_t>(t.m), n = static_cast<std::size_t>(t.n);
    const auto lda = static_cast<std::size_t>(t.lda), ldb = static_cast<std::size_t>(t.ldb);
    const bool left = t.side == 'L';
    const std::size_t order = left ? m : n, count = left ? n : m;
    // One right-hand side x of op(A) x = alpha b; from the right it is A's transpose that meets each row.
    const bool turned = (t.trans == 'T') == left;
    const bool forward = (t.uplo == 'L') != turned;
    const auto entry = [&](std::size_t i, std::size_t j) {
      return static_cast<double>(turned ? t.a[i * lda + j] : t.a[j * lda + i]);
    };
    parallel(
        count,
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t s = begin; s < end; ++s) {
            T* x = t.b + (left ? s * ldb : s);
            const std::size_t step = left ? 1 : ldb;
            for (std::size_t at = 0; at < order; ++at) {
              const std::size_t i = forward ? at : order - 1 - at;
              double sum = t.alpha * static_cast<double>(x[i * step]);
              for (std::size_t before = 0; before < at; ++before) {
                const std::size_t j = forward ? before : order - 1 - before;
                sum -= entry(i, j) * static_cast<double>(x[j * step]);
              }
              x[i * step] = static_cast<T>(t.diag == 'U' ? sum : sum / entry(i, i));
            }
          }
        },
        4);
  }
};

struct HostEvent {
  double at_s = -1;
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(int index) {
    info_.backend = "host";
    info_.index = index;
    info_.name = "threads of this host (" + std::to_string(host_threads()) + ")";
    info_.compute_mode = "default";
    info_.memory_bytes = memory_room().bytes;
    info_.shared_bytes = 48 << 10;
  }
  [[nodiscard]] const Info& info() const override { return info_; }
  std::size_t free_bytes() override { return memory_room().bytes / 2; }
  Blas& blas() override { return blas_; }
  Transforms& transforms() override { return *transforms_; }

  void* allocate(std::size_t bytes, Memory) override {
    constexpr std::size_t kPage = 4096;
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
    if (whole > memory_room().bytes) {
      throw Failure(State::out_of_memory,
                    info_.name + ": no " + show_bytes(bytes) + ", " + show_bytes(memory_room().bytes) + " are free",
                    "ask for less");
    }
    void* address = std::aligned_alloc(kPage, whole);
    if (address == nullptr)
      throw Failure(State::out_of_memory, info_.name + ": no " + show_bytes(bytes), "ask for less");
    return address;
  }
  void release(void* address, Memory) noexcept override { std::free(address); }
  void copy(void* to, const void* from, std::size_t bytes, Handle) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void fill(void* to, int byte, std::size_t bytes, Handle) override {
    if (bytes > 0) std::memset(to, byte, bytes);
  }
  bool reach(Device& other) override { return dynamic_cast<HostDevice*>(&other) != nullptr; }

  Handle make_stream(bool) override { return this; }
  void drop_stream(Handle) noexcept override {}
  void wait(Handle) override {}
  Handle make_event() override { return new HostEvent; }
  void drop_event(Handle event) noexcept override { delete static_cast<HostEvent*>(event); }
  void record(Handle event, Handle) override { static_cast<HostEvent*>(event)->at_s = now_s(); }
  void await(Handle, Handle) override {}
  bool happened(Handle) override { return true; }
  double seconds(Handle begin, Handle end) override {
    return static_cast<HostEvent*>(end)->at_s - static_cast<HostEvent*>(begin)->at_s;
  }

  Handle find_kernel(const Module& module, const char* name) override {
    for (const HostKernel& kernel : module.host) {
      if (std::strcmp(kernel.name, name) == 0) return const_cast<HostKernel*>(&kernel);
    }
    throw Failure(State::not_compiled, std::string("the host backend has no kernel ") + name,
                  "add it to the module's host table");
  }
  void start(Handle kernel, const Grid& grid, Handle, void** arguments) override {
    static_cast<const HostKernel*>(kernel)->run(grid, arguments);
  }
  unsigned resident_blocks(Handle, const Grid&) override { return static_cast<unsigned>(host_threads()); }

 private:
  Info info_;
  HostBlas blas_;
  std::unique_ptr<Transforms> transforms_ = host_transforms();
};

}  // namespace

std::vector<std::unique_ptr<Device>> host_devices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) devices.push_back(std::make_unique<HostDevice>(i));
  return devices;
}

}  // namespace shakedown::gpu
