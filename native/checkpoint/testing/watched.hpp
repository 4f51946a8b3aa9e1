// The operating system's files, with a look at each operation that changes something.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../files.hpp"

namespace shakedown::checkpoint::testing {

/// Calls `before` ahead of every operation that changes something; what it gives below 0 is the result.
class Watched : public Files {
 public:
  explicit Watched(std::function<Result(const std::string& path)> before) : before_(std::move(before)) {}
  Result open(const std::string& path, OpenFor purpose) override {
    if (purpose == OpenFor::kRead) return real_->open(path, purpose);
    return checked(path, [&] { return real_->open(path, purpose); });
  }
  Result read(Result handle, void* into, std::size_t bytes, std::uint64_t at) override {
    return real_->read(handle, into, bytes, at);
  }
  Result write(Result handle, const void* from, std::size_t bytes, std::uint64_t at) override {
    return checked("", [&] { return real_->write(handle, from, bytes, at); });
  }
  Result reserve(Result handle, std::uint64_t bytes) override {
    return checked("", [&] { return real_->reserve(handle, bytes); });
  }
  Result flush_data(Result handle) override {
    return checked("", [&] { return real_->flush_data(handle); });
  }
  Result flush(Result handle) override {
    return checked("", [&] { return real_->flush(handle); });
  }
  Result close(Result handle) override { return real_->close(handle); }
  Result bytes_of(const std::string& path) override { return real_->bytes_of(path); }
  Result rename(const std::string& from, const std::string& to) override {
    return checked(from, [&] { return real_->rename(from, to); });
  }
  Result remove_file(const std::string& path) override {
    return checked(path, [&] { return real_->remove_file(path); });
  }
  Result make_folder(const std::string& path) override {
    return checked(path, [&] { return real_->make_folder(path); });
  }
  Result remove_folder(const std::string& path) override {
    return checked(path, [&] { return real_->remove_folder(path); });
  }
  Result flush_folder(const std::string& path) override {
    return checked(path, [&] { return real_->flush_folder(path); });
  }
  Result list(const std::string& path, std::vector<std::string>& names) override { return real_->list(path, names); }
  Result lock(const std::string& path) override { return real_->lock(path); }

 private:
  template <class Call>
  Result checked(const std::string& path, Call&& call) {
    const Result stopped = before_(path);
    return stopped < 0 ? stopped : call();
  }
  std::function<Result(const std::string&)> before_;
  std::shared_ptr<Files> real_ = real_files();
};

}  // namespace shakedown::checkpoint::testing
