// Windows of every kind, or why there is none.
#include <array>

#include "onesided.hpp"

namespace shakedown::onesided {
namespace {

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// What an operation on a window says when it fails: it is this rank's alone, and the other waits.
void end_job(MPI_Win*, int* code, ...) {
  std::fprintf(stderr, "onesided: a one-sided operation failed: %s\n  next: leave that window or operation out\n",
               text_of(*code).c_str());
  MPI_Abort(MPI_COMM_WORLD, kCouldNotMeasure);
}

bool share_memory(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  int size = 0;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &size);
  MPI_Comm_free(&host);
  return size > 1;
}

}  // namespace

const char* name_of(WindowKind kind) {
  static constexpr std::array<const char*, kWindowKinds> kNames = {"allocate", "create", "allocate_shared", "dynamic"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* mpi_name_of(WindowKind kind) {
  static constexpr std::array<const char*, kWindowKinds> kNames = {"Win_allocate", "Win_create", "Win_allocate_shared",
                                                                   "Win_create_dynamic"};
  return kNames[static_cast<std::size_t>(kind)];
}

int Window::make(const Ranks& ranks, WindowKind kind, std::size_t bytes) {
  const auto size = static_cast<MPI_Aint>(bytes);
  void* memory = buffer_.data();
  int code = MPI_SUCCESS;
  switch (kind) {
    case WindowKind::allocate:
      code = MPI_Win_allocate(size, 1, MPI_INFO_NULL, ranks.control, static_cast<void*>(&memory), &window_);
      break;
    case WindowKind::create:
      code = MPI_Win_create(memory, size, 1, MPI_INFO_NULL, ranks.control, &window_);
      break;
    case WindowKind::allocate_shared:
      code = MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, ranks.control, static_cast<void*>(&memory), &window_);
      break;
    case WindowKind::dynamic:
      code = MPI_Win_create_dynamic(MPI_INFO_NULL, ranks.control, &window_);
      if (code == MPI_SUCCESS && bytes > 0) {
        code = MPI_Win_attach(window_, memory, size);
        MPI_Get_address(memory, &base_);
      }
      break;
  }
  if (code == MPI_SUCCESS && bytes > 0) memory_ = {static_cast<std::uint8_t*>(memory), bytes};
  return code;
}

Window::Window(const Ranks& ranks, WindowKind kind, std::size_t bytes, Pages pages) {
  const bool is_target = ranks.rank == kTarget;
  if (kind == WindowKind::allocate_shared && !share_memory(ranks.control)) {
    throw cannot("the two ranks share no memory", "leave allocate_shared out of --windows");
  }
  together(ranks.control, [&] {
    if (!is_target) return;
    require_memory(2 * bytes, "the target's window");  // and what must be in it
    if (kind == WindowKind::create || kind == WindowKind::dynamic) buffer_ = Buffer(bytes, pages);
  });
  MPI_Comm_set_errhandler(ranks.control, MPI_ERRORS_RETURN);
  const int code = make(ranks, kind, is_target ? bytes : 0);
  MPI_Comm_set_errhandler(ranks.control, MPI_ERRORS_ARE_FATAL);
  const std::string said = code == MPI_SUCCESS ? "" : text_of(code);
  agree(ranks.control, said.empty() ? kOk : kCouldNotMeasure,
        std::string("this MPI makes no window by MPI_") + mpi_name_of(kind) + ": " + said);
  MPI_Bcast(&base_, 1, MPI_AINT, kTarget, ranks.control);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(end_job, &handler);
  MPI_Win_set_errhandler(window_, handler);
  MPI_Errhandler_free(&handler);
  MPI_Win_lock_all(0, window_);
}

Window::~Window() {
  if (window_ == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

}  // namespace shakedown::onesided
