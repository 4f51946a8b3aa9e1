// checkpoint.h: arguments are checked, nothing is thrown past here.
#include "include/shakedown/checkpoint.h"

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "folders.hpp"
#include "session.hpp"

namespace ckpt = shakedown::checkpoint;
using ckpt::failed;
using ckpt::Outcome;

struct shakedown_ckpt {
  shakedown_ckpt_comm comm = {};
  std::unique_ptr<ckpt::Session> session;
  std::string last;
};

namespace {

thread_local std::string last_of_thread;

int alone(void* /*context*/, const void* /*mine*/, void* /*all*/, size_t /*bytes*/) { return 0; }

/// Keeps the words of an outcome and of warnings for last_error.
int noted(std::string& last, const Outcome& outcome, const std::string& warnings) {
  if (outcome.good() && warnings.empty()) return outcome.error;
  last = outcome.words;
  if (!warnings.empty() && warnings != outcome.words) last += (last.empty() ? "" : "\n") + warnings;
  return outcome.error;
}

/// Runs a function of the library: what it throws becomes an error.
template <class Call>
Outcome caught(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return {SHAKEDOWN_CKPT_MEMORY, "no memory"};
  } catch (const std::exception& error) {
    try {
      return {SHAKEDOWN_CKPT_INTERNAL, error.what()};
    } catch (...) {
      return {SHAKEDOWN_CKPT_INTERNAL, {}};
    }
  } catch (...) {
    return {SHAKEDOWN_CKPT_INTERNAL, {}};
  }
}

template <class Call>
int with(shakedown_ckpt* handle, Call&& call) noexcept {
  if (handle == nullptr) {
    last_of_thread = "the handle is NULL: shakedown_ckpt_open gave an error";
    return SHAKEDOWN_CKPT_INVALID;
  }
  const Outcome outcome = caught([&] { return call(*handle->session); });
  return noted(handle->last, outcome, handle->session->take_warnings());
}

std::vector<std::uint64_t> shape_of(const uint64_t* lengths, int ndim) {
  return lengths == nullptr ? std::vector<std::uint64_t>() : std::vector<std::uint64_t>(lengths, lengths + ndim);
}

Outcome named(const char* const* folders, int count, shakedown_ckpt_visit visit, std::vector<std::string>& names) {
  if (folders == nullptr || count < 0 || visit == nullptr)
    return failed(SHAKEDOWN_CKPT_INVALID, "folders or the visitor are NULL");
  for (int at = 0; at < count; ++at) {
    if (folders[at] == nullptr) return failed(SHAKEDOWN_CKPT_INVALID, "a folder is NULL");
    names.emplace_back(folders[at]);
  }
  return {};
}

template <class Struct>
Outcome sized(const Struct* given, const char* name) {
  if (given == nullptr) return failed(SHAKEDOWN_CKPT_INVALID, std::string(name) + " is NULL");
  if (given->struct_bytes == sizeof *given) return {};
  return failed(SHAKEDOWN_CKPT_INVALID,
                std::string("struct_bytes of ") + name + " is not its size: set it to sizeof before the call");
}

}  // namespace

void shakedown_ckpt_options_init(shakedown_ckpt_options* options) {
  if (options == nullptr) return;
  const ckpt::Settings settings;
  *options = {};
  options->struct_bytes = sizeof *options;
  options->group_size = settings.group_size;
  options->group_losses = settings.group_losses;
  options->keep = settings.keep;
  options->timeout_seconds = settings.timeout_seconds;
}

int shakedown_ckpt_open(const shakedown_ckpt_comm* comm, const shakedown_ckpt_options* options,
                        shakedown_ckpt** handle) {
  shakedown_ckpt_comm own = {0, 1, nullptr, alone, nullptr};
  if (comm != nullptr) own = *comm;
  const Outcome outcome = caught([&]() -> Outcome {
    if (handle == nullptr) return failed(SHAKEDOWN_CKPT_INVALID, "the pointer to the handle is NULL");
    *handle = nullptr;
    if (own.size < 1 || own.rank < 0 || own.rank >= own.size || own.allgather == nullptr) {
      return failed(SHAKEDOWN_CKPT_INVALID, "rank " + std::to_string(own.rank) + " of " + std::to_string(own.size) +
                                                " with an allgather is needed");
    }
    auto made = std::make_unique<shakedown_ckpt>();
    ckpt::Settings settings;
    const Outcome understood = ckpt::settings_of(options, settings);
    Outcome opened = ckpt::Session::open(own, understood, std::move(settings), ckpt::real_files(), made->session);
    if (!opened.good()) return opened;
    made->comm = own;
    made->last = made->session->take_warnings();
    *handle = made.release();
    return opened;
  });
  if (!outcome.good() && own.release != nullptr) own.release(own.context);
  return noted(last_of_thread, outcome, "");
}

int shakedown_ckpt_close(shakedown_ckpt* handle, shakedown_ckpt_policy policy) {
  if (handle == nullptr) return SHAKEDOWN_CKPT_OK;
  const Outcome outcome = caught([&] { return handle->session->close(policy); });
  const int error = noted(last_of_thread, outcome, handle->session->take_warnings());
  const shakedown_ckpt_comm comm = handle->comm;
  delete handle;
  if (comm.release != nullptr) comm.release(comm.context);
  return error;
}

int shakedown_ckpt_protect(shakedown_ckpt* handle, const char* name, void* pointer, shakedown_ckpt_type type, int ndim,
                           const uint64_t* local_shape, const uint64_t* global_shape, const uint64_t* offset) {
  return shakedown_ckpt_protect_inside(handle, name, pointer, type, ndim, local_shape, global_shape, offset, nullptr,
                                       nullptr);
}

int shakedown_ckpt_protect_inside(shakedown_ckpt* handle, const char* name, void* pointer, shakedown_ckpt_type type,
                                  int ndim, const uint64_t* local_shape, const uint64_t* global_shape,
                                  const uint64_t* offset, const uint64_t* memory_shape, const uint64_t* memory_offset) {
  return with(handle, [&](ckpt::Session& session) -> Outcome {
    if (name == nullptr) return failed(SHAKEDOWN_CKPT_INVALID, "the name is NULL");
    const std::string what = std::string("'") + name + "' cannot be protected: ";
    if (ndim < 0 || ndim > SHAKEDOWN_CKPT_MOST_DIMENSIONS) {
      return failed(SHAKEDOWN_CKPT_INVALID, what + std::to_string(ndim) + " dimensions, not 0 to " +
                                                std::to_string(SHAKEDOWN_CKPT_MOST_DIMENSIONS));
    }
    const bool halves =
        (global_shape == nullptr) != (offset == nullptr) || (memory_shape == nullptr) != (memory_offset == nullptr);
    if (ndim > 0 && (local_shape == nullptr || halves)) {
      return failed(SHAKEDOWN_CKPT_INVALID, what + "a shape and its offset are given together, the local shape always");
    }
    ckpt::Protected part;
    part.name = name;
    part.type = type;
    part.pointer = static_cast<std::uint8_t*>(pointer);
    part.box = {shape_of(local_shape, ndim), shape_of(global_shape, ndim), shape_of(offset, ndim)};
    part.memory_shape = shape_of(memory_shape, ndim);
    part.memory_offset = shape_of(memory_offset, ndim);
    return session.protect(std::move(part));
  });
}

int shakedown_ckpt_unprotect(shakedown_ckpt* handle, const char* name) {
  return with(handle, [&](ckpt::Session& session) { return session.unprotect(name == nullptr ? "" : name); });
}

int shakedown_ckpt_due(shakedown_ckpt* handle, int* level) {
  int found = 0;
  const int error = with(handle, [&](ckpt::Session& session) { return session.due(found); });
  if (level != nullptr) *level = found;
  return error;
}

int shakedown_ckpt_checkpoint(shakedown_ckpt* handle, int level) {
  return with(handle, [&](ckpt::Session& session) { return session.checkpoint(level); });
}

int shakedown_ckpt_poll(shakedown_ckpt* handle, int* pending) {
  bool found = false;
  const int error = with(handle, [&](ckpt::Session& session) { return session.poll(found); });
  if (pending != nullptr) *pending = found ? 1 : 0;
  return error;
}

int shakedown_ckpt_wait(shakedown_ckpt* handle, double seconds) {
  return with(handle, [&](ckpt::Session& session) { return session.wait(seconds); });
}

int shakedown_ckpt_restart_info(shakedown_ckpt* handle, shakedown_ckpt_restart* info) {
  return with(handle, [&](ckpt::Session& session) -> Outcome {
    if (Outcome right = sized(info, "shakedown_ckpt_restart"); !right.good()) return right;
    return session.restart_info(*info);
  });
}

int shakedown_ckpt_restore(shakedown_ckpt* handle, const char* name) {
  return with(handle, [&](ckpt::Session& session) {
    return session.restore(name == nullptr ? std::nullopt : std::optional<std::string>(name));
  });
}

int shakedown_ckpt_snapshot(shakedown_ckpt* handle, int* did) {
  int found = SHAKEDOWN_CKPT_DID_NOTHING;
  const int error = with(handle, [&](ckpt::Session& session) { return session.snapshot(found); });
  if (did != nullptr) *did = found;
  return error;
}

int shakedown_ckpt_stats(shakedown_ckpt* handle, shakedown_ckpt_statistics* statistics) {
  return with(handle, [&](ckpt::Session& session) -> Outcome {
    if (Outcome right = sized(statistics, "shakedown_ckpt_statistics"); !right.good()) return right;
    session.stats(*statistics);
    return {};
  });
}

int shakedown_ckpt_set_option(shakedown_ckpt* handle, const char* name, const char* value) {
  return with(handle, [&](ckpt::Session& session) -> Outcome {
    if (name == nullptr || value == nullptr) return failed(SHAKEDOWN_CKPT_INVALID, "an option or its value is NULL");
    return session.set_option(name, value);
  });
}

const char* shakedown_ckpt_last_error(const shakedown_ckpt* handle) {
  return handle == nullptr ? last_of_thread.c_str() : handle->last.c_str();
}

int shakedown_ckpt_list(const char* const* folders, int count, int verify, shakedown_ckpt_visit visit, void* context) {
  const Outcome outcome = caught([&]() -> Outcome {
    std::vector<std::string> names;
    if (Outcome right = named(folders, count, visit, names); !right.good()) return right;
    return ckpt::list_folders(ckpt::real_files(), names, verify != 0, ckpt::Settings{}.keep,
                              [&](const shakedown_ckpt_entry& entry) { visit(context, &entry); });
  });
  return noted(last_of_thread, outcome, "");
}

int shakedown_ckpt_prune(const char* const* folders, int count, int keep, int dry_run, shakedown_ckpt_visit visit,
                         void* context) {
  const Outcome outcome = caught([&]() -> Outcome {
    std::vector<std::string> names;
    if (Outcome right = named(folders, count, visit, names); !right.good()) return right;
    if (keep < 1) return failed(SHAKEDOWN_CKPT_INVALID, "at least 1 generation is kept, not " + std::to_string(keep));
    return ckpt::prune_folders(ckpt::real_files(), names, keep, dry_run != 0,
                               [&](const shakedown_ckpt_entry& entry) { visit(context, &entry); });
  });
  return noted(last_of_thread, outcome, "");
}

const char* shakedown_ckpt_error_name(int error) {
  static constexpr const char* kNames[] = {"ok",     "nothing", "invalid",  "storage", "peer",     "busy",  "timeout",
                                           "locked", "memory",  "mismatch", "lost",    "internal", "device"};
  return error < 0 || error > SHAKEDOWN_CKPT_DEVICE ? "unknown" : kNames[error];
}
