// A state of more than 4 GiB, on real files: every place in it counts in 64 bits. What is all zeros is not written, so
// that the file has holes, and a staged copy of it takes no memory here: the test runs in seconds and a few MiB. A
// sanitizer keeps four times as much memory beside what is touched: it sees the same with 64 MiB.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <thread>

#include "drain.hpp"
#include "folders.hpp"
#include "session.hpp"
#include "testing/check.hpp"
#include "testing/ranks.hpp"
#include "testing/sanitized.hpp"
#include "testing/watched.hpp"

using namespace shakedown::checkpoint;
using namespace shakedown::checkpoint::testing;

namespace {

shakedown::Checks checks;
namespace fs = std::filesystem;

constexpr std::uint64_t kWindow = std::uint64_t{16} << 20;
constexpr std::uint64_t kRound = shakedown::kSanitized ? std::uint64_t{64} << 20 : std::uint64_t{4} << 30;
constexpr std::uint64_t kLarge = kRound + (std::uint64_t{3} << 20) + 24;  // no whole number of blocks

constexpr std::uint64_t kMapped = kLarge / kWindow * kWindow + 2 * kWindow;

/// Addresses for so many bytes behind which lies one window of memory again and again.
class Window {
 public:
  static std::unique_ptr<Window> of(std::uint64_t bytes) { return std::unique_ptr<Window>(new Window(bytes)); }
  ~Window() {
    dropping_ = {};
    ::munmap(data_, bytes_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  explicit Window(std::uint64_t bytes) : bytes_((bytes + kWindow - 1) / kWindow * kWindow) {
    const int file = ::memfd_create("window", MFD_CLOEXEC);
    bool good = ::ftruncate(file, static_cast<off_t>(kWindow)) == 0;
    data_ = static_cast<std::uint8_t*>(
        ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::uint64_t at = 0; at < bytes_; at += kWindow) {
      good = good && ::mmap(data_ + at, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == data_ + at;
    }
    ::close(file);
    checks.that(good, "a window that repeats");
    // Each address counts as memory of this process once it was touched: who looks for the largest would find it.
    dropping_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        ::madvise(data_, bytes_, MADV_DONTNEED);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }
  std::uint8_t* data_;
  std::uint64_t bytes_;
  std::jthread dropping_;
};

/// Leaves out what is all zeros.
class Sparse final : public Watched {
 public:
  Sparse() : Watched([](const std::string&) -> Result { return 0; }) {}
  Result reserve(Result handle, std::uint64_t bytes) override {
    return ::ftruncate(static_cast<int>(handle), static_cast<off_t>(bytes)) == 0 ? 0 : -EIO;
  }
  Result write(Result handle, const void* from, std::size_t bytes, std::uint64_t at) override {
    const auto* begin = static_cast<const std::uint8_t*>(from);
    if (std::all_of(begin, begin + bytes, [](std::uint8_t one) { return one == 0; })) return 0;
    return Watched::write(handle, from, bytes, at);
  }
};

}  // namespace

int main() {
  char pattern[] = "/tmp/shakedown_checkpoint_XXXXXX";
  const fs::path top = ::mkdtemp(pattern);
  Settings settings;
  settings.local = top / "local";
  settings.node = settings.domain = "here";
  settings.synchronous = true;
  const shakedown_ckpt_comm alone = {0, 1, nullptr, nullptr, nullptr};
  // Memory that nobody has touched costs nothing.
  void* const memory =
      ::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  checks.that(memory != MAP_FAILED, "memory");
  auto* const large = static_cast<std::uint8_t*>(memory);
  const std::uint64_t marks[] = {5, kRound / 2 + 1, kRound + 7, kLarge - 1};
  for (const std::uint64_t mark : marks) large[mark] = static_cast<std::uint8_t>(mark % 250 + 1);
  std::vector<std::uint64_t> behind(1000);
  std::iota(behind.begin(), behind.end(), std::uint64_t{77});
  const std::vector<std::uint64_t> wanted = behind;
  const std::vector<Protected> parts = {
      {"large", SHAKEDOWN_CKPT_BYTES, {{kLarge}, {}, {}}, large, {}, {}},
      {"behind", SHAKEDOWN_CKPT_UINT64, {{1000}, {}, {}}, reinterpret_cast<std::uint8_t*>(behind.data()), {}, {}}};
  auto staged = std::make_shared<Staged>();
  Manifest& manifest = staged->manifest;
  manifest.run = {1, 2, 3};
  manifest.generation = 1;
  manifest.level = SHAKEDOWN_CKPT_LOCAL;
  manifest.ranks = 1;
  manifest.regions = layout(parts, manifest.data_bytes);
  checks.that(manifest.regions.size() == 2 && manifest.regions[1].at > kLarge, "what lies behind, lies behind");
  {
    // What is staged goes round and round in a little memory: its checksums are those of the state all the same.
    const auto around = Window::of(manifest.data_bytes);
    checks.that(stage(parts, around->data(), manifest.data_bytes, manifest.checksums).good(), "staged");
  }
  // The copy is the state itself here, which has room for what lies behind.
  std::copy_n(reinterpret_cast<const std::uint8_t*>(behind.data()), behind.size() * sizeof(behind[0]),
              large + manifest.regions[1].at);
  staged->buffer = Buffer::over(large, kMapped);
  {
    Folder folder(std::make_shared<Sparse>(), settings.local, false);
    const Topology topology({{settings.node, settings.domain}});
    Context context;
    context.topology = &topology;
    context.local = &folder;
    context.patience_seconds = 60;
    const auto done = [&](const char* what, Folder::Work work) {
      const Outcome outcome = folder.run(context.patience_seconds, std::move(work));
      checks.that(outcome.good(), std::string(what) + ": " + outcome.words);
    };
    done("taken", [&](Store& store) {
      Outcome outcome = store.prepare();
      return outcome.good() ? store.take(manifest.run) : outcome;
    });
    const Drained drained = drain(context, staged, 1);
    checks.that(drained.level == SHAKEDOWN_CKPT_LOCAL, "drained");
    for (const std::string& problem : drained.problems) checks.that(false, problem);
    done("committed", [&](Store& store) { return store.commit({manifest.run, 1, SHAKEDOWN_CKPT_LOCAL, 1, 0}); });
    done("released", [](Store& store) {
      store.release();
      return Outcome{};
    });
  }
  const fs::path file = top / "local/gen-00000000000000000001/rank-000000.data";
  checks.that(fs::file_size(file) > kLarge, "a file as large");
  // Every checksum, by the tools' way through the file.
  int whole = 0;
  const Outcome listed = list_folders(real_files(), {settings.local}, true, 2, [&](const shakedown_ckpt_entry& entry) {
    whole += entry.ranks_whole;
    checks.that(entry.bytes > kLarge && std::string(entry.problem).empty(), std::string("sound: ") + entry.problem);
  });
  checks.that(listed.good() && whole == 1, "verified");
  for (const std::uint64_t mark : marks) {
    std::uint8_t read = 0;
    const Result handle = real_files()->open(file, OpenFor::kRead);
    checks.that(real_files()->read(handle, &read, 1, mark) == 1 && read == large[mark],
                "byte " + std::to_string(mark) + " lies at its place");
    real_files()->close(handle);
  }
  std::fill(behind.begin(), behind.end(), 0);
  std::unique_ptr<Session> session;
  checks.that(Session::open(alone, {}, settings, real_files(), session).good(), "opened again");
  (void)session->protect(
      {"behind", SHAKEDOWN_CKPT_UINT64, {{1000}, {}, {}}, reinterpret_cast<std::uint8_t*>(behind.data()), {}, {}});
  const Outcome restored = session->restore("behind");
  checks.that(restored.good() && behind == wanted, "what lies behind comes back: " + restored.words);
  session.reset();
  staged.reset();  // and the memory with it
  fs::remove_all(top);
  return checks.end();
}
