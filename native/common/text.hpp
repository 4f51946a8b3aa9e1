// Text with numbers in it, by printf's formats.
#pragma once

#include <string>

namespace shakedown {

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);

}  // namespace shakedown
