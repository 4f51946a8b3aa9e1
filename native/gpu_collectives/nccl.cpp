#include "nccl.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "meeting.hpp"

namespace shakedown::gpu_collectives {
namespace {

constexpr const char* kNext =
    "load the site's NCCL module, or pip install nvidia-nccl-cu13 and name its file with --nccl "
    "PATH/nvidia/nccl/lib/libnccl.so.2";

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw gpu::Failure(gpu::State::no_library, std::string("this NCCL lacks ") + name,
                       "install NCCL 2.7 or newer: that is the first with sends and receives");
  }
}

void* load_library(const std::string& library, std::string& how) {
  if (library != "auto") {
    how = "named";
    if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* why = dlerror();
    throw gpu::Failure(gpu::State::no_library, std::string("cannot load NCCL: ") + (why == nullptr ? library : why),
                       kNext);
  }
  how = "the loader's";
  for (const char* name : {"libnccl.so.2", "librccl.so.1"}) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  throw gpu::Failure(gpu::State::no_library, "there is no NCCL where the loader looks", kNext);
}

}  // namespace

std::string nccl_version_word(int version) {
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int minor = version >= 10000 ? version / 100 % 100 : version / 100 % 10;
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(version % 100);
}

std::string Nccl::words(int code) const {
  const char* text = error_text(code);
  std::string said = (text == nullptr ? "error" : text) + std::string(" (") + std::to_string(code) + ")";
  const char* last = last_error == nullptr ? nullptr : last_error(nullptr);
  if (last != nullptr && *last != 0) said += std::string(": ") + last;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

Nccl load_nccl(const std::string& library) {
  Nccl nccl;
  void* handle = load_library(library, nccl.how);
  find(handle, "ncclGetVersion", nccl.get_version);
  find(handle, "ncclGetUniqueId", nccl.unique_id);
  find(handle, "ncclCommInitRank", nccl.init);
  find(handle, "ncclCommDestroy", nccl.destroy);
  find(handle, "ncclCommAbort", nccl.abort);
  find(handle, "ncclCommGetAsyncError", nccl.async_error);
  find(handle, "ncclGroupStart", nccl.group_start);
  find(handle, "ncclGroupEnd", nccl.group_end);
  find(handle, "ncclAllReduce", nccl.all_reduce);
  find(handle, "ncclBroadcast", nccl.broadcast);
  find(handle, "ncclReduce", nccl.reduce);
  find(handle, "ncclAllGather", nccl.all_gather);
  find(handle, "ncclReduceScatter", nccl.reduce_scatter);
  find(handle, "ncclSend", nccl.send);
  find(handle, "ncclRecv", nccl.receive);
  find(handle, "ncclGetErrorString", nccl.error_text);
  nccl.last_error = reinterpret_cast<const char* (*)(Comm)>(dlsym(handle, "ncclGetLastError"));
  int version = 0;
  nccl.get_version(&version);  // needs no device
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(nccl.init), &where) != 0 && where.dli_fname != nullptr)
    nccl.path = where.dli_fname;
  const bool is_rccl = nccl.path.find("rccl") != std::string::npos;
  nccl.title = std::string(is_rccl ? "RCCL " : "NCCL ") + nccl_version_word(version);
  return nccl;
}

}  // namespace shakedown::gpu_collectives
