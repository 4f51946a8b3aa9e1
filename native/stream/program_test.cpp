// What must be true of the program as a whole: its exit codes and its events.
#include "testing.hpp"
#include "testing/run_program.hpp"

namespace shakedown::stream {
namespace {

Ran run(const std::string& arguments) { return run_command(std::string(PROGRAM) + " " + arguments); }

void expect_run(const std::string& arguments, int code, const std::string& part) {
  const auto ended = run(arguments);
  expect(ended.code == code, arguments + ": exit code " + std::to_string(code) + ", not " + std::to_string(ended.code));
  expect(ended.says(part), arguments + ": prints '" + part + "': " + ended.text);
}

void whole_runs() {
  const std::string small = "--threads 1 --samples 3 --sizes 4096,65536 ";
  const auto ended = run(small + "--kernels copy,scale,add,triad,read,write --variant cached");
  expect(ended.code == 0, "a small run is whole");
  expect(ended.count("\"event\":\"case\"") == 12, "one case for each kernel and size");
  expect(ended.count("\"value\":0,") == 12, "each exact");
  expect(ended.count("\"edge\":\"begin\"") == ended.count("\"edge\":\"end\""), "every phase ends");
  expect_run(small + "--isa plain", 0, "\"isa\":\"plain\"");
  expect_run(small + "--loop u4", 0, "\"ok\":true");
  expect_run(small + "--cache-bytes 100,200,300 --isa plain", 0, "\"level\":\"memory\"");
  expect_run(small + "--pages base", 0, "\"pages\":\"base\"");
  expect_run(small + "--no-verify", 0, "\"ok\":true");
}

void refusals() {
  expect_run("--sizes 4096 --threads 1 --samples 1 --break-element 100", 1, "\"ok\":false");
  expect_run("--sizes 4096 --threads 1 --samples 1 --kernels read --break-element 100", 1, "\"ok\":false");
  expect_run("--threads 0", 2, "--threads '0'");
  expect_run("--threads 100000", 2, "threads requested");
  expect_run("--kernels tread", 2, "unknown kernel 'tread'");
  expect_run("--variant fast", 2, "unknown variant");
  expect_run("--placement nowhere", 2, "unknown placement");
  expect_run("--sizes 4096 --loop u99", 2, "no loop 'u99'");
  expect_run("--size 4096", 2, "did you mean --sizes?");
  expect_run("--sizes 1000000000000000", 3, "are left by");
  expect_run("--sizes 4096 --isa plain --variant nt", 3, "non-temporal");
}

}  // namespace
}  // namespace shakedown::stream

int main() {
  shakedown::stream::whole_runs();
  shakedown::stream::refusals();
  return shakedown::stream::checks.end();
}
