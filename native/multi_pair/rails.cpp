#include "rails.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

namespace shakedown::multi_pair {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kWord = 4;        // the counters of a port count words of four bytes
constexpr double kIdleShare = 0.1;       // of an equal part
constexpr double kLeastOfPayload = 0.9;  // headers come on top of it

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::int64_t number(const fs::path& path) {
  std::int64_t value = 0;
  std::ifstream file(path);
  file >> value;
  return file.fail() ? 0 : value;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

RailState read_port(const fs::path& port) {
  RailState found;
  found.state = first_line(port / "state");  // "4: ACTIVE"
  found.is_there = !found.state.empty();
  found.is_up = found.state.starts_with("4");
  const fs::path counters = port / "counters";
  found.bytes = kWord * (number(counters / "port_xmit_data") + number(counters / "port_rcv_data"));
  return found;
}

RailState read_interface(const fs::path& interface) {
  RailState found;
  found.state = first_line(interface / "operstate");
  found.is_there = !found.state.empty();
  // The state follows the carrier by up to a second; of an interface that was taken down the carrier cannot be read.
  // Virtual ones say "unknown" and work; "lowerlayerdown" is a cable that is out at the other end.
  const std::string carrier = first_line(interface / "carrier");
  found.is_up = carrier.empty() ? found.state == "up" || found.state == "unknown" : carrier == "1";
  const fs::path statistics = interface / "statistics";
  found.bytes = number(statistics / "tx_bytes") + number(statistics / "rx_bytes");
  return found;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? "none" : text;
}

}  // namespace

RailState read_rail(const std::string& name, const std::string& folder) {
  if (name.empty() || name.find('/') != std::string::npos) return {};
  const auto colon = name.find(':');
  if (colon != std::string::npos) {
    return read_port(fs::path(folder) / "infiniband" / name.substr(0, colon) / "ports" / name.substr(colon + 1));
  }
  return read_interface(fs::path(folder) / "net" / name);
}

std::vector<std::string> rails_there(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& device : names_in(fs::path(folder) / "infiniband")) {
    for (const auto& port : names_in(fs::path(folder) / "infiniband" / device / "ports")) {
      std::string name = device;
      found.push_back(std::move(name.append(":").append(port)));
    }
  }
  for (const auto& name : names_in(fs::path(folder) / "net")) {
    if (name != "lo" && read_rail(name, folder).is_there) found.push_back(name);
  }
  return found;
}

std::string not_usable(const std::vector<std::string>& names, const std::string& host, const std::string& folder) {
  for (const auto& name : names) {
    const RailState found = read_rail(name, folder);
    std::string why;
    if (!found.is_there) {
      why.append(host).append(" has no network ").append(name).append("; it has ").append(joined(rails_there(folder)));
    } else if (!found.is_up) {
      why.append("network ").append(name).append(" of ").append(host);
      why.append(" is not up, but \"").append(found.state).append("\"");
    }
    if (!why.empty()) return why;
  }
  return "";
}

double strayed(const Carried& carried, const std::vector<bool>& chosen) {
  std::int64_t all = 0;
  std::int64_t others = 0;
  for (std::size_t i = 0; i < carried.bytes.size(); ++i) {
    all += carried.bytes[i];
    others += chosen[i] ? 0 : carried.bytes[i];
  }
  if (all <= 0 || static_cast<double>(all) < kLeastOfPayload * static_cast<double>(carried.payload)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return static_cast<double>(others) / static_cast<double>(all);
}

int idle(const Carried& carried, const std::vector<bool>& chosen) {
  std::int64_t all = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < carried.bytes.size(); ++i) {
    if (!chosen[i]) continue;
    all += carried.bytes[i];
    ++count;
  }
  for (std::size_t i = 0; count > 1 && i < carried.bytes.size(); ++i) {
    const double equal = static_cast<double>(all) / static_cast<double>(count);
    if (chosen[i] && static_cast<double>(carried.bytes[i]) < kIdleShare * equal) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace shakedown::multi_pair
