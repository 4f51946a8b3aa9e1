// On the host backend a launch returns when its kernel is done. What a program does beside a running kernel on a device
// (answer its courier) the launch does for it, again and again.
#pragma once

#include <functional>

namespace shakedown::gpu {

inline thread_local const std::function<void()>* meanwhile = nullptr;

}  // namespace shakedown::gpu
