// What the tests of this folder share: expectations, and a folder that stands for "/".
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "common/error.hpp"
#include "testing/check.hpp"

namespace shakedown::stream {

inline Checks checks;

inline void expect(bool holds, const std::string& what, const Place& at = Place::current()) {
  checks.that(holds, what, at);
}

/// Expect that `call` throws an Error of that code whose text holds `part`.
template <class Call>
void expect_error(ExitCode code, const std::string& part, Call call, const Place& at = Place::current()) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    expect(error.code == code, "exit code " + std::to_string(code) + " for: " + text, at);
    expect(text.find(part) != std::string::npos, "the error holds '" + part + "': " + text, at);
    return;
  }
  expect(false, "an error that holds '" + part + "'", at);
}

/// A folder that stands for "/" of another machine; gone at the end.
class FakeRoot {
 public:
  FakeRoot() : path_((std::filesystem::temp_directory_path() / "shakedown_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + file).parent_path());
    std::ofstream(path_ + file) << text << '\n';
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace shakedown::stream
