// MPI-IO: the same transfers by MPI's own calls (MPI 4.0, chapter 14).
#include <mpi.h>

#include <array>

#include "common/job.hpp"
#include "transfers.hpp"

namespace shakedown::storage {
namespace {

/// MPI's words for a code of its own.
std::string because(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

class ByMpi final : public Transfers {
 public:
  ByMpi(const Opening& opening, bool collective) : path_(opening.path), write_(opening.write), collective_(collective) {
    const int mode = (opening.write ? MPI_MODE_WRONLY : MPI_MODE_RDONLY) | (opening.create ? MPI_MODE_CREATE : 0);
    check(MPI_File_open(opening.alone ? MPI_COMM_SELF : MPI_COMM_WORLD, path_.c_str(), mode, MPI_INFO_NULL, &file_),
          "opening ");
  }
  ~ByMpi() override {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }
  ByMpi(const ByMpi&) = delete;
  ByMpi& operator=(const ByMpi&) = delete;

  void start(std::size_t slot, const Transfer& what) override {
    const auto at = static_cast<MPI_Offset>(what.offset);
    const int bytes = static_cast<int>(what.bytes);
    const auto call = write_ ? (collective_ ? write_all : write_one) : (collective_ ? read_all : read_one);
    MPI_Status status;
    check(call(file_, at, what.data, bytes, &status), write_ ? "writing " : "reading ");
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (write_ && got != bytes) throw cannot("writing " + path_ + " by MPI-IO failed: it took a part only");
    done_ = {slot, static_cast<std::size_t>(got)};
  }
  Done next() override { return done_; }
  void sync() override { check(MPI_File_sync(file_), "syncing "); }
  void close() override { check(MPI_File_close(&file_), "closing "); }

 private:
  static int write_one(MPI_File file, MPI_Offset at, void* data, int bytes, MPI_Status* status) {
    return MPI_File_write_at(file, at, data, bytes, MPI_BYTE, status);
  }
  static int write_all(MPI_File file, MPI_Offset at, void* data, int bytes, MPI_Status* status) {
    return MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, status);
  }
  static int read_one(MPI_File file, MPI_Offset at, void* data, int bytes, MPI_Status* status) {
    return MPI_File_read_at(file, at, data, bytes, MPI_BYTE, status);
  }
  static int read_all(MPI_File file, MPI_Offset at, void* data, int bytes, MPI_Status* status) {
    return MPI_File_read_at_all(file, at, data, bytes, MPI_BYTE, status);
  }
  void check(int code, const std::string& what) const {
    if (code != MPI_SUCCESS) throw cannot(what + path_ + " by MPI-IO failed: " + because(code));
  }

  std::string path_;
  bool write_;
  bool collective_;
  MPI_File file_ = MPI_FILE_NULL;
  Done done_{};
};

}  // namespace

MpiJob::MpiJob(int rank, int size) {
  int offered = MPI_THREAD_SINGLE;
  setenv("HWLOC_COMPONENTS", "-opencl,-gl", 0);  // as mpi_main does: hwloc would look for devices
  // A thread of ours calls MPI while the first one waits for it: never two at once.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &offered);
  int there = 0;
  int mine = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &there);
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  if (offered < MPI_THREAD_SERIALIZED) {
    throw cannot("this MPI allows no calls from a second thread", "use one that offers MPI_THREAD_SERIALIZED");
  }
  if (there != size || mine != rank) {
    throw cannot("MPI sees " + std::to_string(there) + " ranks where --ranks says " + std::to_string(size),
                 "start it by the launcher of the MPI that it was built with");
  }
  version = mpi_version();
}

MpiJob::~MpiJob() { MPI_Finalize(); }

std::unique_ptr<Transfers> open_mpi(const Opening& opening, bool collective) {
  return std::make_unique<ByMpi>(opening, collective);
}

}  // namespace shakedown::storage
