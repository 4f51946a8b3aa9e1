// Copies between host and devices, and between devices: what is measured, with its check.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/program.hpp"
#include "gpu/samples.hpp"

namespace shakedown::gpu_copy {

using Word = unsigned long long;

struct Options {
  gpu::Choice choice;
  gpu::Timing timing;
  std::vector<std::int64_t> sizes;   // bytes of a copy
  std::vector<std::string> kernels;  // kKernels
  std::vector<std::string> memory;   // pinned, pageable
  std::int64_t triad_bytes = 0;      // of each of the triad's arrays
  std::vector<std::int64_t> blocks;  // bytes of the blocks that the triad moves at a time
  bool near = true;                  // the host's memory on the NUMA node of the device
  bool spoil = false;                // damage what arrived, to see the check fail
  bool verify = true;
};

extern const gpu::Module kModule;
constexpr const char* kKernels[] = {"h2d", "d2h", "bidirectional", "peer", "latency", "triad"};
constexpr const char* kMemories[] = {"pinned", "pageable"};

/// Words in device memory that can be filled and compared there.
class Words {
 public:
  Words(gpu::Device& device, std::size_t bytes);
  void fill(Word seed);
  [[nodiscard]] double wrong(Word seed);  // how many are not those of the seed
  void spoil();                           // one of them
  [[nodiscard]] Word* data() const { return data_.data(); }

 private:
  gpu::Device& device_;
  gpu::Stream stream_;
  gpu::Array<Word> data_, wrong_;
  gpu::Kernel<Word*, Word, std::size_t> fill_;
  gpu::Kernel<const Word*, Word, std::size_t, Word*> compare_;
};

/// Let this thread and the memory that it touches first be near a device, as far as this process may.
void go_near(Emitter& emitter, const gpu::Info& info);

/// What each device leaves out.
using LeftOuts = std::map<const gpu::Device*, gpu::LeftOut>;

struct Need {
  std::size_t on_device = 0, on_host = 0;  // bytes
};
/// Whether there is room on both sides; where there is not, that is told of `what`.
bool has_room(gpu::Device& device, const Need& need, const std::string& what, gpu::LeftOut& left_out);

/// h2d, d2h, bidirectional and latency of one device, as chosen.
void measure_host(Emitter& emitter, gpu::Device& device, const Options& options, gpu::LeftOut& left_out);
/// The triad of SHOC: arrays in the host's memory, blocks of them moved to the device and back by two streams.
void measure_triad(Emitter& emitter, gpu::Device& device, const Options& options, gpu::LeftOut& left_out);
/// Copies from each device to each other, one way and both.
void measure_peers(Emitter& emitter, const std::vector<std::unique_ptr<gpu::Device>>& devices, const Options& options,
                   LeftOuts& left_outs);

bool asked(const std::vector<std::string>& words, const char* word);
void emit(Emitter& emitter, const Options& options, const Case& series, double wrong, const char* kind);

}  // namespace shakedown::gpu_copy
