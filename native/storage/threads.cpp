#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>

namespace shakedown::storage {
namespace {

constexpr std::size_t kNamed = 8;  // threads whose lag stands among the facts
constexpr double kSlow = 1.25;     // times the median
constexpr double kLittle = 0.1;    // s: differences below are not worth a word

/// Bytes in bins as wide as `width`.
std::vector<double> widened(const ThreadTime& thread, double width, std::size_t count) {
  std::vector<double> found(count);
  const auto each = static_cast<std::size_t>(std::lround(width / thread.bin_s));
  for (std::size_t i = 0; i < thread.bins.size(); ++i) found[i / each] += static_cast<double>(thread.bins[i]);
  return found;
}

std::string rounded(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", number);
  return text.data();
}

}  // namespace

std::string to_text(const std::vector<ThreadTime>& threads) {
  std::ostringstream text;
  text.precision(17);
  for (const auto& one : threads) {
    text << (one.host.empty() ? "?" : one.host) << ' ' << one.rank << ' ' << one.thread << ' ' << one.seconds << ' '
         << one.longest_s << ' ' << one.bytes << ' ' << one.bin_s << ' ' << one.folder << ' ' << one.bins.size();
    for (const auto bytes : one.bins) text << ' ' << bytes;
    text << '\n';
  }
  return text.str();
}

std::vector<ThreadTime> from_text(const std::string& text) {
  std::vector<ThreadTime> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    ThreadTime one;
    std::size_t bins = 0;
    words >> one.host >> one.rank >> one.thread >> one.seconds >> one.longest_s >> one.bytes >> one.bin_s >>
        one.folder >> bins;
    if (words && bins <= OverTime::kBins) {
      one.bins.resize(bins);
      for (auto& bytes : one.bins) words >> bytes;
    }
    if (!words || bins > OverTime::kBins) throw cannot("another process of the job sent nonsense");
    found.push_back(std::move(one));
  }
  return found;
}

std::vector<ThreadTime> gather_threads(Peers& peers, const std::vector<Worker>& workers) {
  std::vector<ThreadTime> mine;
  mine.reserve(workers.size());
  for (const auto& worker : workers) {
    const double width = worker.over_time.width();
    mine.push_back({host_name(), peers.rank(), static_cast<int>(mine.size()), worker.seconds, worker.longest_s,
                    worker.bytes, width, worker.over_time.at(width), worker.part.folder});
  }
  std::vector<ThreadTime> all;
  for (const auto& text : peers.gather(to_text(mine))) {
    for (auto& one : from_text(text)) all.push_back(std::move(one));
  }
  return all;
}

Lags lags_of(const std::vector<ThreadTime>& threads) {
  Lags found;
  double last_s = 0;
  double bytes = 0;
  std::size_t count = 0;
  for (const auto& one : threads) found.bin_s = std::max(found.bin_s, one.bin_s);
  for (const auto& one : threads) {
    last_s = std::max(last_s, one.seconds);
    bytes += static_cast<double>(one.bytes);
    const auto end = static_cast<double>(one.bins.size()) * one.bin_s / found.bin_s;
    count = std::max(count, static_cast<std::size_t>(std::ceil(end)));
  }
  std::vector<std::vector<double>> moved;
  moved.reserve(threads.size());
  found.all.assign(count, 0);
  for (const auto& one : threads) {
    moved.push_back(widened(one, found.bin_s, count));
    for (std::size_t i = 0; i < count; ++i) found.all[i] += moved.back()[i];
  }
  const auto all = static_cast<double>(threads.size());
  const double rate = last_s > 0 ? bytes / all / last_s : 0;  // of the mean thread
  for (auto& one : moved) {
    double mean = 0;
    double own = 0;
    for (std::size_t i = 0; i < count; ++i) {
      mean += found.all[i] / all;
      own += one[i];
      one[i] = rate > 0 ? (mean - own) / rate : 0;
    }
  }
  found.lag_s = std::move(moved);
  return found;
}

std::size_t slowest(const std::vector<ThreadTime>& threads) {
  const auto at = std::max_element(threads.begin(), threads.end(),
                                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return static_cast<std::size_t>(at - threads.begin());
}

double median_s(const std::vector<ThreadTime>& threads) {
  std::vector<double> times;
  times.reserve(threads.size());
  for (const auto& one : threads) times.push_back(one.seconds);
  std::sort(times.begin(), times.end());
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}

std::vector<FolderTime> by_folder(const std::vector<ThreadTime>& threads, std::size_t folders) {
  std::vector<FolderTime> found(folders);
  for (const auto& one : threads) {
    FolderTime& there = found.at(one.folder);
    ++there.threads;
    there.bytes += one.bytes;
    there.seconds = std::max(there.seconds, one.seconds);
  }
  return found;
}

Object threads_fact(const std::vector<ThreadTime>& threads, const std::vector<std::string>& directories) {
  const Lags lags = lags_of(threads);
  std::vector<double> seconds;
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return threads[a].seconds > threads[b].seconds; });
  seconds.reserve(threads.size());
  for (const auto& one : threads) seconds.push_back(one.seconds);
  std::vector<Object> named;
  for (std::size_t i = 0; i < std::min(kNamed, order.size()); ++i) {
    const auto& one = threads[order[i]];
    named.push_back(Object()
                        .add("host", one.host)
                        .add("rank", one.rank)
                        .add("thread", one.thread)
                        .add("seconds", one.seconds)
                        .add("longest_s", one.longest_s)
                        .add("bytes", one.bytes)
                        .add("lag_s", lags.lag_s[order[i]]));
  }
  Object fact;
  fact.add("bin_s", lags.bin_s).add("bytes", lags.all).add("seconds", seconds).add("slowest", named);
  if (directories.size() < 2) return fact;
  std::vector<Object> folders;
  for (const auto& one : by_folder(threads, directories.size())) {
    folders.push_back(Object()
                          .add("directory", directories[folders.size()])
                          .add("threads", one.threads)
                          .add("bytes", one.bytes)
                          .add("seconds", one.seconds));
  }
  return fact.add("directories", folders);
}

std::string slow_folder(const std::vector<ThreadTime>& threads, const std::vector<std::string>& directories) {
  if (directories.size() < 2) return "";
  const auto found = by_folder(threads, directories.size());
  std::vector<double> each;  // seconds a byte of a thread: one more thread in a directory is no slowness of it
  each.reserve(found.size());
  for (const auto& one : found) {
    if (one.bytes == 0) return "";
    each.push_back(one.seconds / static_cast<double>(one.bytes) * static_cast<double>(one.threads));
  }
  const auto at = static_cast<std::size_t>(std::max_element(each.begin(), each.end()) - each.begin());
  std::vector<double> sorted = each;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[(sorted.size() - 1) / 2];
  if (each[at] < kSlow * median || found[at].seconds * (1 - median / each[at]) < kLittle) return "";
  return directories[at] + " took " + rounded(each[at] / median) +
         " times as long for a byte of each thread as the median directory: all wait for it";
}

std::string slow_thread(const std::vector<ThreadTime>& threads) {
  if (threads.size() < 2) return "";
  const ThreadTime& one = threads[slowest(threads)];
  const double median = median_s(threads);
  if (one.seconds < kSlow * median || one.seconds - median < kLittle) return "";
  return "rank " + std::to_string(one.rank) + " on " + one.host + " (its thread " + std::to_string(one.thread) +
         ") took " + rounded(one.seconds) + " s where the median thread took " + rounded(median) +
         " s; its longest block " + rounded(one.longest_s) + " s";
}

}  // namespace shakedown::storage
