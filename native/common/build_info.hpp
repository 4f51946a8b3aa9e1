// From what the programs were built. The values stand in build_info.cpp, which CMake makes: nothing else is compiled
// again for a new commit.
#pragma once

namespace shakedown {

extern const char* const kBuildVersion;
extern const char* const kBuildCommit;
extern const char* const kBuildCompiler;
extern const char* const kBuildFlags;

}  // namespace shakedown
