// Choosing a backend and its devices.
#include "gpu.hpp"

#include <algorithm>
#include <optional>

#include "cuda.hpp"
#include "host.hpp"

namespace shakedown::gpu {

const char* word(State state) {
  static const char* const kWords[] = {"gpu-no-driver",     "gpu-driver-too-old", "gpu-no-device",    "gpu-busy",
                                       "gpu-prohibited",    "gpu-not-ready",      "gpu-not-compiled", "gpu-no-library",
                                       "gpu-out-of-memory", "gpu-lost",           "gpu-corrupted",    "gpu-failed"};
  return kWords[static_cast<std::size_t>(state)];
}

Object facts(const Info& info) {
  Object facts;
  facts.add("backend", info.backend).add("index", info.index).add("name", info.name).add("pci", info.pci);
  facts.add("uuid", info.uuid).add("architecture", info.architecture).add("compute_mode", info.compute_mode);
  facts.add("driver", info.driver).add("multiprocessors", info.multiprocessors);
  facts.add("memory_bytes", info.memory_bytes).add("l2_bytes", info.l2_bytes).add("clock_hz", info.clock_hz);
  facts.add("memory_clock_hz", info.memory_clock_hz).add("memory_bus_bits", info.memory_bus_bits);
  facts.add("mig", info.mig);
  return facts;
}

Choice read_choice(Args& args) {
  Choice choice;
  choice.backend =
      args.text("backend", "cuda", "cuda; host or host:N for N devices made of this host's threads (tests)");
  choice.devices = args.text("devices", "all", "which devices, as the backend counts them: all, or 0,1");
  choice.driver = args.text("driver", kCudaLibrary, "the driver's library");
  choice.cublas = args.text("cublas", "auto", "the path of libcublas.so; auto: as the loader finds it");
  return choice;
}

namespace {

/// "all", or numbers between commas, each once, all of them there.
std::vector<int> chosen(const std::string& words, int count) {
  std::vector<int> wanted;
  if (words == "all") {
    for (int i = 0; i < count; ++i) wanted.push_back(i);
    return wanted;
  }
  const std::string shown = count == 1 ? "there is one, 0" : "there are 0 to " + std::to_string(count - 1);
  for (std::size_t begin = 0; begin <= words.size();) {
    const auto comma = std::min(words.find(',', begin), words.size());
    const std::string one = words.substr(begin, comma - begin);
    const bool number = !one.empty() && one.size() < 6 && one.find_first_not_of("0123456789") == std::string::npos;
    if (!number || std::stoi(one) >= count) throw usage("--devices: no device '" + one + "'", shown);
    if (std::find(wanted.begin(), wanted.end(), std::stoi(one)) == wanted.end()) wanted.push_back(std::stoi(one));
    begin = comma + 1;
  }
  return wanted;
}

int host_count(const std::string& backend) {
  if (backend == "host") return 1;
  const std::string number = backend.substr(5);
  if (number.size() != 1 || number[0] < '1' || number[0] > '9')
    throw usage("--backend '" + backend + "'", "cuda, host, or host:1 to host:9");
  return number[0] - '0';
}

}  // namespace

std::vector<std::unique_ptr<Device>> open(const Choice& choice, std::vector<Failure>* refused) {
  if (choice.backend == "cuda") {
    const auto driver = cuda_driver(choice.driver);
    std::vector<std::unique_ptr<Device>> devices;
    std::optional<Failure> last;
    for (const int index : chosen(choice.devices, cuda_count(*driver))) {
      try {
        devices.push_back(cuda_device(driver, index, choice.cublas, choice.cufft));
      } catch (const Failure& failure) {
        if (refused == nullptr) throw;
        refused->push_back(failure);
        last = failure;
      }
    }
    if (devices.empty() && last) throw *last;
    return devices;
  }
  if (choice.backend == "host" || choice.backend.starts_with("host:")) {
    auto all = host_devices(host_count(choice.backend));
    std::vector<std::unique_ptr<Device>> devices;
    for (const int index : chosen(choice.devices, static_cast<int>(all.size())))
      devices.push_back(std::move(all[static_cast<std::size_t>(index)]));
    return devices;
  }
  throw usage("--backend '" + choice.backend + "'", "cuda, host, or host:N");
}

}  // namespace shakedown::gpu
