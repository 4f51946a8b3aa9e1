// The whole program: on the host backend with ranks that are threads, and on one rank through the CUDA backend with a
// driver and a cuBLAS that are fakes, in every state that a real one can be in.
#define main hpl_gpu_main
#include "main.cpp"  // NOLINT(bugprone-suspicious-include): its main is called on each rank
#undef main

#include <fstream>
#include <sstream>

#include "common/check.hpp"

// Never looked at by the fake driver: it must not be empty.
extern "C" {
extern const unsigned char shakedown_gpu_image_hpl_gpu[1];
extern const std::uint64_t shakedown_gpu_image_hpl_gpu_bytes;
const unsigned char shakedown_gpu_image_hpl_gpu[1] = {0};
const std::uint64_t shakedown_gpu_image_hpl_gpu_bytes = 1;
}

namespace {

using shakedown::Checks;

constexpr unsigned kHang_s = 900;

struct Ran {
  std::vector<int> codes;
  std::string events;
  [[nodiscard]] int count(const std::string& word) const {
    int found = 0;
    for (auto at = events.find(word); at != std::string::npos; at = events.find(word, at + 1)) ++found;
    return found;
  }
};

Ran run(int ranks, const std::vector<std::string>& words) {
  const std::string file = "hpl_gpu_program_test." + std::to_string(getpid()) + ".jsonl";
  std::vector<std::string> all = {"hpl_gpu", "--events", file};
  all.insert(all.end(), words.begin(), words.end());
  Ran ran;
  ran.codes.resize(static_cast<std::size_t>(ranks));
  ranks_in_threads::start(ranks, [&](int rank) {
    auto mine = all;
    std::vector<char*> argv(mine.size() + 1);
    std::transform(mine.begin(), mine.end(), argv.begin(), [](auto& word) { return word.data(); });
    ran.codes[static_cast<std::size_t>(rank)] = hpl_gpu_main(static_cast<int>(mine.size()), argv.data());
  });
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  ran.events = text.str();
  std::remove(file.c_str());
  return ran;
}

Ran sweep(Checks& checks, int ranks, std::vector<std::string> words, int cases, int code = 0) {
  words.insert(words.begin(), {"--backend", "host"});
  Ran ran = run(ranks, words);
  std::string line = std::to_string(ranks) + " ranks:";
  for (const auto& word : words) line.append(" ").append(word);
  for (const int found : ran.codes) checks.equal(found, code, line);
  checks.equal(ran.count(R"("event":"case","kernel":"hpl")"), cases, line + ": systems");
  checks.equal(ran.count(R"("kernel":"update")"), cases, line + ": with their shares");
  checks.equal(ran.count(R"("kernel":"each")"), cases, line + ": and a GPU's part");
  if (code == 0 || code == 1)
    checks.equal(ran.count(R"("event":"end","ok":)" + std::string(code == 0 ? "true" : "false")), 1,
                 line + ": the end");
  return ran;
}

void sweeps(Checks& checks) {
  sweep(checks, 4, {"--n", "40", "--nb", "8", "--mapping", "column", "--samples", "2", "--aware", "no"}, 1);
#if defined(__SANITIZE_THREAD__)
  return;  // it takes minutes for the rest, in which threads do nothing else
#endif
  sweep(checks, 1, {"--n", "1,30,31", "--nb", "8,64"}, 6);
  sweep(checks, 4, {"--n", "40,50", "--nb", "8", "--p", "1,2,4", "--q", "3,2,1", "--no-ceiling"}, 6);
  sweep(checks, 3, {"--n", "40", "--nb", "8", "--p", "1", "--q", "2", "--bcast", "0,1,4"}, 3);  // one is left over
  sweep(checks, 2, {"--n", "40", "--nb", "16", "--tail-nb", "4", "--per-host", "--panel-blocks", "2"}, 1);
  sweep(checks, 2, {"--n", "auto", "--nb", "8", "--time-limit", "0.0000001", "--memory-share", "0.00001"}, 1);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--threshold", "0"}, 1);
  sweep(checks, 3, {"--n", "2147483647,40", "--nb", "8", "--p", "1", "--q", "2"}, 1, 3);  // the rest is done
  sweep(checks, 2, {"--n", "2147483647", "--nb", "8"}, 0, 3);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--p", "2", "--q", "2"}, 0, 2);
  sweep(checks, 2, {"--n", "40", "--nb", "4096"}, 0, 2);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--devices", "7"}, 0, 2);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--dat", "/nowhere/HPL.dat"}, 0, 2);
  for (const char* kind : {"entry", "nan", "singular"}) {
    for (const int ranks : {1, 4}) sweep(checks, ranks, {"--n", "40", "--nb", "8", "--inject", kind}, 1, 1);
  }
}

void numbers(Checks& checks) {
  using shakedown::hpl_gpu::device_number;
  checks.equal(device_number("all", 4, 2, false), std::string("2"), "the rank's own");
  checks.equal(device_number("0,3", 4, 1, false), std::string("3"), "of those chosen");
  checks.equal(device_number("all", 1, 5, false), std::string("0"), "the only one that a rank sees");
  checks.equal(device_number("all", 2, 5, true), std::string("1"), "shared");
  checks.throws<shakedown::Error>([] { device_number("all", 2, 2, false); }, "more ranks than devices");
  checks.throws<shakedown::Error>([] { device_number("all", 0, 0, false); }, "no device");
}

/// What HPL.dat asks for and a device does its own way is named, and what was done stands in netlib's text.
void file(Checks& checks) {
  const std::string dat = "hpl_gpu_program_test.dat", out = "hpl_gpu_program_test.out";
  std::ofstream(dat) << "one\ntwo\n"
                     << out
                     << " file\n8 device\n1 #\n40 Ns\n1 #\n8 NBs\n0 PMAP\n1 #\n1 Ps\n1 Qs\n16.0 threshold\n"
                        "3 #\n0 1 2 PFACTs\n2 #\n2 4 NBMINs\n1 #\n2 NDIVs\n1 #\n0 RFACTs\n2 #\n0 3 BCASTs\n2 #\n0 2 "
                        "DEPTHs\n2 SWAP\n64 #\n0 L1\n0 U\n1 #\n8 #\n";
  const Ran ran = sweep(checks, 1, {"--dat", dat, "--netlib", out}, 2);
  checks.equal(ran.count(R"("code":"ignored")"), 9, "ignored parameters, each in words: " + ran.events);
  checks.that(ran.count("PFACT 0,1,2 (line 15)") > 0, "with its values");
  std::ifstream in(out);
  std::ostringstream text;
  text << in.rdbuf();
  checks.that(text.str().find("WR10R2C32") != std::string::npos && text.str().find("WR13R2C32") != std::string::npos,
              "what was run: " + text.str());
  checks.that(text.str().find("2 tests completed and passed residual checks") != std::string::npos, text.str());
  std::remove(dat.c_str());
  std::remove(out.c_str());
}

Ran fake(const std::string& state, std::vector<std::string> words, int ranks = 1) {
  setenv("FAKE_CUDA", state.c_str(), 1);
  words.insert(words.begin(), {"--driver", FAKE_DRIVER, "--cublas", FAKE_CUBLAS, "--nvml", "/nowhere"});
  Ran ran = run(ranks, words);
  unsetenv("FAKE_CUDA");
  return ran;
}

void through_cuda(Checks& checks) {
  // First, while nothing was launched yet: the device falls off the bus in the middle of the factorization.
  const Ran lost = fake("lost_after 40", {"--n", "60", "--nb", "8"});
  checks.equal(lost.codes.front(), 3, "lost on the way: " + lost.events);
  checks.equal(lost.count(R"("code":"gpu-lost")"), 1, "it is told: " + lost.events);
  checks.equal(lost.count(R"("event":"case")"), 0, "and there is no figure");
  const Ran whole = fake("devices 1", {"--n", "90", "--nb", "40"});
  checks.equal(whole.codes.front(), 0, "through the driver: " + whole.events);
  checks.equal(whole.count(R"("kernel":"hpl")"), 1, "one system");
  checks.that(whole.count(R"("backend":"cuda")") > 0, "on the backend cuda");
  const Ran two = fake("devices 2", {"--n", "60", "--nb", "16", "--p", "1", "--q", "2"}, 2);
  checks.equal(two.codes.front() + two.codes.back(), 0, "two ranks with a device each: " + two.events);
  const Ran few = fake("devices 2", {"--n", "60", "--nb", "16"}, 3);
  checks.equal(few.codes.front(), 2, "three ranks and two devices");
  const Ran shared = fake("devices 1", {"--n", "60", "--nb", "16"}, 2);
  checks.equal(shared.codes.front(), 3, "two ranks with the same device: " + shared.events);
  const Ran small = fake("devices 1 room 100000", {"--n", "2000", "--nb", "16"});
  checks.equal(small.codes.front(), 3, "no room on the device");
  for (const char* state : {"init 100", "devices 0", "init 999", "retain 46 mode 3", "retain 46 mode 2", "load 209"})
    checks.equal(fake(state, {"--n", "60", "--nb", "16"}).codes.front(), 3, state);
  setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1", 1);
  const Ran emulated = fake("devices 1", {"--n", "60", "--nb", "16"});
  checks.that(emulated.count(R"("code":"fp64-emulation")") == 1 && getenv("CUBLAS_EMULATE_DOUBLE_PRECISION") == nullptr,
              "emulated products are not heeded: " + emulated.events);
}

}  // namespace

int main() {
  alarm(kHang_s);
  Checks checks;
  numbers(checks);
  through_cuda(checks);
  sweeps(checks);
  file(checks);
  return checks.end();
}
