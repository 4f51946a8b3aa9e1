#include "store.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>

namespace shakedown::checkpoint {
namespace {

constexpr std::uint64_t kFlushEach = std::uint64_t{256} << 20;  // no single flush takes long, and a hang shows
constexpr std::uint64_t kMostManifest = std::uint64_t{1} << 30;
constexpr const char* kGenerationHead = "gen-";
constexpr std::size_t kGenerationDigits = 20;

std::string padded(std::uint64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

const char* head_of(Kind kind) {
  if (kind == Kind::kRank) return "rank-";
  return kind == Kind::kCopy ? "copy-" : "parity-";
}

std::string inside(const std::string& folder, const std::string& name) { return folder + "/" + name; }

std::string file_name(Kind kind, int rank) { return head_of(kind) + padded(static_cast<std::uint64_t>(rank), 6); }

/// The number of a folder that was named by folder_of, or 0.
std::uint64_t generation_of(const std::string& name) {
  const std::string head = kGenerationHead;
  if (!name.starts_with(head) || name.size() != head.size() + kGenerationDigits) return 0;
  std::uint64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + head.size(), end, number);
  return error == std::errc{} && stop == end ? number : 0;
}

}  // namespace

Store::Store(std::shared_ptr<Files> files, std::string folder, bool direct)
    : files_(std::move(files)),
      folder_(std::move(folder)),
      direct_(direct),
      pulse_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
}

void Store::release() {
  if (lock_ >= 0) files_->close(lock_);
  lock_ = -1;
}

std::string Store::folder_of(std::uint64_t generation) const {
  return folder_ + "/" + kGenerationHead + padded(generation, kGenerationDigits);
}

std::string Store::path_of(const PartName& name, const char* ending) const {
  return folder_of(name.generation) + "/" + file_name(name.kind, name.rank) + ending;
}

Outcome Store::wrong(const std::string& action, const std::string& path, Result error) const {
  return failed(SHAKEDOWN_CKPT_STORAGE, "cannot " + action + " " + path + ": " + words_of(error));
}

Result Store::beat(Result result) {
  pulse_->fetch_add(1, std::memory_order_relaxed);
  return result;
}

Outcome Store::prepare() {
  for (std::size_t at = folder_.find('/', 1); at != std::string::npos; at = folder_.find('/', at + 1)) {
    beat(files_->make_folder(folder_.substr(0, at)));  // whether it worked shows at the last
  }
  if (const Result made = beat(files_->make_folder(folder_)); made < 0) return wrong("make the folder", folder_, made);
  std::vector<std::string> names;
  const Result listed = beat(files_->list(folder_, names));
  return listed < 0 ? wrong("list", folder_, listed) : Outcome{};
}

Outcome Store::lock() {
  const std::string path = folder_ + "/LOCK";
  const Result lock = beat(files_->lock(path));
  if (lock == -EWOULDBLOCK) {
    return failed(SHAKEDOWN_CKPT_LOCKED,
                  "another job writes checkpoints to " + folder_ + ": end it, or give each job a folder of its own");
  }
  // Where a file system has no locks, OWNER alone sees that of two jobs only the later one writes.
  if (lock < 0 && lock != -ENOLCK && lock != -EOPNOTSUPP && lock != -ENOSYS) return wrong("lock", path, lock);
  lock_ = lock;
  return {};
}

Outcome Store::take(const RunId& run) {
  if (Outcome locked = lock(); !locked.good()) return locked;
  if (Outcome written = write_small(folder_ + "/OWNER", Bytes(run.begin(), run.end())); !written.good()) return written;
  join(run);
  return {};
}

void Store::join(const RunId& run) {
  run_ = run;
  owned_ = true;
}

Outcome Store::check_owner() {
  if (!owned_) return {};
  Bytes owner;
  if (Outcome read = read_whole(folder_ + "/OWNER", owner); !read.good()) return read;
  if (std::equal(owner.begin(), owner.end(), run_.begin(), run_.end())) return {};
  return failed(SHAKEDOWN_CKPT_LOCKED, "another job has taken over " + folder_ + ": this job no longer writes there");
}

Outcome Store::read_whole(const std::string& path, Bytes& bytes) {
  const Result size = beat(files_->bytes_of(path));
  if (size < 0) return wrong("read", path, size);
  if (static_cast<std::uint64_t>(size) > kMostManifest) return wrong("read", path, -EFBIG);
  const Result handle = beat(files_->open(path, OpenFor::kRead));
  if (handle < 0) return wrong("open", path, handle);
  bytes.resize(static_cast<std::size_t>(size));
  const Result got = beat(files_->read(handle, bytes.data(), bytes.size(), 0));
  files_->close(handle);
  if (got < 0) return wrong("read", path, got);
  bytes.resize(static_cast<std::size_t>(got));
  return {};
}

/// A small file, whole under its name or not there at all.
Outcome Store::write_small(const std::string& path, const Bytes& bytes) {
  const std::string temporary = path + ".tmp";
  const Result handle = beat(files_->open(temporary, OpenFor::kWriteNew));
  if (handle < 0) return wrong("open", temporary, handle);
  Result step = bytes.empty() ? 0 : beat(files_->write(handle, bytes.data(), bytes.size(), 0));
  if (step >= 0) step = beat(files_->flush(handle));
  const Result closed = beat(files_->close(handle));
  if (step >= 0) step = closed;
  if (step >= 0) step = beat(files_->rename(temporary, path));
  if (step >= 0) step = beat(files_->flush_folder(path.substr(0, path.rfind('/'))));
  if (step >= 0) return {};
  files_->remove_file(temporary);
  return wrong("write", path, step);
}

Outcome Store::scan(std::vector<Generation>& found) {
  std::vector<std::string> names;
  if (const Result listed = beat(files_->list(folder_, names)); listed < 0) return wrong("list", folder_, listed);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    Generation generation;
    generation.number = generation_of(name);
    if (generation.number == 0) continue;
    scan_generation(generation);
    found.push_back(std::move(generation));
  }
  return {};
}

void Store::scan_generation(Generation& generation) {
  const std::string folder = folder_of(generation.number);
  const auto problem = [&](const std::string& name, const std::string& why) {
    generation.problems.push_back(folder + "/" + name + ": " + why);
  };
  std::vector<std::string> names;
  if (const Result listed = beat(files_->list(folder, names)); listed < 0) return problem("", words_of(listed));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    Bytes bytes;
    std::string why;
    if (name.ends_with(".tmp")) {
      problem(name, "it is not whole: its writer was stopped");
    } else if (name == "COMMIT") {
      if (Outcome read = read_whole(inside(folder, name), bytes); !read.good()) problem(name, read.words);
      const auto commit = decode_commit(bytes, why);
      if (commit && commit->generation == generation.number) generation.commits.push_back(*commit);
      if (!why.empty()) problem(name, why);
    } else if (name.ends_with(".manifest")) {
      if (Outcome read = read_whole(inside(folder, name), bytes); !read.good()) problem(name, read.words);
      auto manifest = decode_manifest(bytes, why);
      if (!manifest) {
        problem(name, why);
        continue;
      }
      if (manifest->generation != generation.number ||
          file_name(manifest->kind, manifest->rank) + ".manifest" != name) {
        problem(name, "it belongs to another file");
        continue;
      }
      const PartName part{generation.number, manifest->kind, manifest->rank};
      const Result size = beat(files_->bytes_of(path_of(part, ".data")));
      if (size < 0) {
        problem(file_name(part.kind, part.rank) + ".data", words_of(size));
        continue;
      }
      if (static_cast<std::uint64_t>(size) != manifest->data_bytes) {
        // Blocks that are there may still be sound: the part stays, each block is judged by its checksum.
        problem(file_name(part.kind, part.rank) + ".data",
                std::to_string(size) + " bytes, its manifest says " + std::to_string(manifest->data_bytes));
      }
      generation.parts.push_back({std::move(*manifest), static_cast<std::uint64_t>(size)});
    }
  }
}

Outcome Store::read_manifest(const PartName& name, Bytes& bytes) {
  return read_whole(path_of(name, ".manifest"), bytes);
}

Outcome Store::read_data(const PartName& name, std::uint64_t at, std::span<std::uint8_t> into) {
  const std::string path = path_of(name, ".data");
  const Result handle = beat(files_->open(path, OpenFor::kRead));
  if (handle < 0) return wrong("open", path, handle);
  const Result got = beat(files_->read(handle, into.data(), into.size(), at));
  files_->close(handle);
  if (got < 0) return wrong("read", path, got);
  if (static_cast<std::size_t>(got) != into.size()) {
    return failed(SHAKEDOWN_CKPT_STORAGE, path + " is too short");
  }
  return {};
}

Outcome Store::commit(const Commit& commit) {
  if (Outcome owned = check_owner(); !owned.good()) return owned;
  return write_small(folder_of(commit.generation) + "/COMMIT", encode_commit(commit));
}

void Store::remove_part(const PartName& name) {
  for (const char* ending : {".manifest", ".manifest.tmp", ".data", ".data.tmp"}) {
    beat(files_->remove_file(path_of(name, ending)));
  }
  beat(files_->remove_folder(folder_of(name.generation)));  // the last one's works
}

Outcome Store::remove_generation(std::uint64_t generation) {
  if (Outcome owned = check_owner(); !owned.good()) return owned;
  const std::string folder = folder_of(generation);
  std::vector<std::string> names;
  if (const Result listed = beat(files_->list(folder, names)); listed < 0) {
    return listed == -ENOENT ? Outcome{} : wrong("list", folder, listed);
  }
  const auto order = [](const std::string& name) { return name == "COMMIT" ? 0 : name.ends_with(".manifest") ? 1 : 2; };
  std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (const std::string& name : names) {
    const std::string path = inside(folder, name);
    if (const Result gone = beat(files_->remove_file(path)); gone < 0 && gone != -ENOENT)
      return wrong("remove", path, gone);
  }
  const Result gone = beat(files_->remove_folder(folder));
  return gone < 0 && gone != -ENOENT ? wrong("remove", folder, gone) : Outcome{};
}

Outcome PartWriter::begin(const PartName& name, std::uint64_t bytes) {
  name_ = name;
  begun_ = true;
  const std::string folder = store_->folder_of(name.generation);
  if (Outcome owned = store_->check_owner(); !owned.good()) return owned;
  if (const Result made = store_->beat(store_->files_->make_folder(folder)); made < 0) {
    return store_->wrong("make the folder", folder, made);
  }
  const std::string path = store_->path_of(name, ".data.tmp");
  const bool large = store_->direct_ && bytes >= kBlockBytes;
  handle_ = store_->beat(store_->files_->open(path, large ? OpenFor::kWriteLarge : OpenFor::kWriteNew));
  if (handle_ < 0) return store_->wrong("open", path, handle_);
  const Result reserved = store_->beat(store_->files_->reserve(handle_, bytes));
  return reserved < 0 ? store_->wrong("reserve " + std::to_string(bytes) + " bytes for", path, reserved) : Outcome{};
}

Outcome PartWriter::add(std::span<const std::uint8_t> data) {
  Result step = store_->beat(store_->files_->write(handle_, data.data(), data.size(), written_));
  written_ += data.size();
  if (step >= 0 && written_ - flushed_ >= kFlushEach) {
    step = store_->beat(store_->files_->flush_data(handle_));
    flushed_ = written_;
  }
  return step < 0 ? store_->wrong("write", store_->path_of(name_, ".data.tmp"), step) : Outcome{};
}

Outcome PartWriter::finish(const Bytes& manifest) {
  Files& files = *store_->files_;
  const std::string data = store_->path_of(name_, ".data");
  const std::string described = store_->path_of(name_, ".manifest");
  const std::string folder = store_->folder_of(name_.generation);
  // An error of a flush means that the file is lost: it is never flushed again (the kernel has dropped the pages).
  Result step = store_->beat(files.flush_data(handle_));
  const Result closed = store_->beat(files.close(handle_));
  handle_ = -1;
  if (step >= 0) step = closed;
  if (step < 0) return store_->wrong("flush", data + ".tmp", step);
  step = store_->beat(files.flush_folder(store_->folder_));
  if (step < 0) return store_->wrong("flush", store_->folder_, step);
  const std::string temporary = described + ".tmp";
  const Result handle = store_->beat(files.open(temporary, OpenFor::kWriteNew));
  if (handle < 0) return store_->wrong("open", temporary, handle);
  step = store_->beat(files.write(handle, manifest.data(), manifest.size(), 0));
  if (step >= 0) step = store_->beat(files.flush(handle));
  const Result ended = store_->beat(files.close(handle));
  if (step >= 0) step = ended;
  if (step < 0) return store_->wrong("write", temporary, step);
  if (Outcome owned = store_->check_owner(); !owned.good()) return owned;
  step = store_->beat(files.rename(data + ".tmp", data));
  if (step >= 0) step = store_->beat(files.rename(temporary, described));
  if (step >= 0) step = store_->beat(files.flush_folder(folder));
  if (step < 0) return store_->wrong("rename and flush", described, step);
  begun_ = false;
  return {};
}

void PartWriter::abandon() {
  if (!begun_) return;
  begun_ = false;
  if (handle_ >= 0) store_->files_->close(handle_);
  handle_ = -1;
  store_->remove_part(name_);
}

}  // namespace shakedown::checkpoint
