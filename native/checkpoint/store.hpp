// One folder of checkpoints: generations in it, and how they come to be there so that a kill at any operation leaves
// nothing that is taken for whole. Everything here runs on a StorageWorker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files.hpp"
#include "manifest.hpp"
#include "outcome.hpp"

namespace shakedown::checkpoint {

/// A file of a generation that has a sound manifest and as many bytes as that says. Its data have not been read.
struct Part {
  Manifest manifest;
  std::uint64_t file_bytes = 0;
};

/// A folder of one generation, as it was found.
struct Generation {
  std::uint64_t number = 0;
  std::vector<Part> parts;
  std::vector<Commit> commits;        // one, or none
  std::vector<std::string> problems;  // a line for each file that cannot be used
};

/// Which file of a generation.
struct PartName {
  std::uint64_t generation = 0;
  Kind kind = Kind::kRank;
  int rank = 0;
};

class Store {
 public:
  /// `direct`: large files are written past the page cache, from which nobody else would read them.
  Store(std::shared_ptr<Files> files, std::string folder, bool direct = false);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Makes the folder where it is not there.
  Outcome prepare();
  /// Keeps other jobs away until release(): LOCKED where one is there.
  Outcome lock();
  /// Locks, and makes this job its only writer.
  Outcome take(const RunId& run);
  /// Other processes of the same job write too: they only see that the folder is still theirs.
  void join(const RunId& run);
  /// Gives the lock back. No destructor does: it would do so on a thread that shall not wait for storage.
  void release();

  /// Generations, oldest first.
  Outcome scan(std::vector<Generation>& found);
  Outcome read_manifest(const PartName& name, Bytes& bytes);
  /// As many bytes of the data as `into` has, or an error. Checksums are the caller's.
  Outcome read_data(const PartName& name, std::uint64_t at, std::span<std::uint8_t> into);

  Outcome commit(const Commit& commit);
  void remove_part(const PartName& name);
  /// With all that lies in it: the commit record first, so that no half of it looks whole.
  Outcome remove_generation(std::uint64_t generation);

  /// Counts operations that ended: whoever waits can tell slow from hung.
  [[nodiscard]] std::shared_ptr<std::atomic<std::uint64_t>> pulse() const { return pulse_; }

 private:
  friend class PartWriter;
  [[nodiscard]] std::string folder_of(std::uint64_t generation) const;
  [[nodiscard]] std::string path_of(const PartName& name, const char* ending) const;
  Outcome wrong(const std::string& action, const std::string& path, Result error) const;
  Result beat(Result result);
  Outcome read_whole(const std::string& path, Bytes& bytes);
  Outcome write_small(const std::string& path, const Bytes& bytes);
  Outcome check_owner();
  void scan_generation(Generation& generation);

  std::shared_ptr<Files> files_;
  std::string folder_;
  bool direct_;
  std::shared_ptr<std::atomic<std::uint64_t>> pulse_;
  RunId run_ = {};
  bool owned_ = false;
  Result lock_ = -1;
};

/// Writes one part: begin, its data in order, finish; or abandon, which removes what is there and is due after an
/// error.
class PartWriter {
 public:
  explicit PartWriter(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  Outcome begin(const PartName& name, std::uint64_t bytes);
  Outcome add(std::span<const std::uint8_t> data);
  /// Data flushed, manifest written and flushed, both renamed, folder flushed.
  Outcome finish(const Bytes& manifest);
  void abandon();

 private:
  std::shared_ptr<Store> store_;
  PartName name_;
  Result handle_ = -1;
  std::uint64_t written_ = 0;
  std::uint64_t flushed_ = 0;
  bool begun_ = false;
};

}  // namespace shakedown::checkpoint
