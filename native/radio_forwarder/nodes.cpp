#include "nodes.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "common/error.hpp"
#include "ethernet.hpp"

namespace shakedown::radio_forwarder {
namespace {

Error refused(const std::string& what, int error) {
  const std::string text = what + ": " + std::strerror(error);
  switch (error) {
    case EPERM:
    case EACCES:
      return cannot(text,
                    "as root, or with --user where an ordinary user may make user namespaces and open /dev/net/tun");
    case ENOSPC:
      return cannot(text, "raise /proc/sys/user/max_net_namespaces");
    case EMFILE:
    case ENFILE:
      return cannot(text, "raise the limit of open files (ulimit -n, /proc/sys/fs/file-max)");
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return cannot(text, "load the kernel's module tun (modprobe tun)");
    case ENOMEM:
    case ENOBUFS:
      return cannot(text, "each node takes about 0.3 MB of kernel memory: ask for fewer");
    default:
      return cannot(text);
  }
}

std::vector<std::uint8_t> address4(std::uint32_t node) {
  return {10, 77, static_cast<std::uint8_t>(node >> 8), static_cast<std::uint8_t>(node)};
}
std::vector<std::uint8_t> address6(std::uint8_t first, std::uint8_t second, std::uint32_t node) {
  std::vector<std::uint8_t> bytes(16);
  bytes[0] = first;
  bytes[1] = second;
  bytes[14] = static_cast<std::uint8_t>(node >> 8);
  bytes[15] = static_cast<std::uint8_t>(node);
  return bytes;
}

/// A kernel setting of the calling thread's network namespace; a kernel without IPv6 lacks some.
void set(const char* name, const char* value) {
  const Handle file(open((std::string("/proc/sys/net/") + name).c_str(), O_WRONLY | O_CLOEXEC));
  if (file.fd() < 0 && errno == ENOENT) return;
  if (file.fd() < 0 || write(file.fd(), value, std::strlen(value)) < 0)
    throw refused(std::string("set net/") + name, errno);
}

Handle open_tap() {
  Handle tap(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (tap.fd() < 0) throw refused("open /dev/net/tun", errno);
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::memcpy(request.ifr_name, kInterface, sizeof kInterface);
  if (ioctl(tap.fd(), TUNSETIFF, &request) < 0) throw refused("make a TAP", errno);
  // It stays when it is closed, and goes with its namespace, of which the kernel ends thousands at once. One by one, as
  // they are closed, TAPs take 30 ms each.
  if (ioctl(tap.fd(), TUNSETPERSIST, 1) < 0) throw refused("keep a TAP", errno);
  return tap;
}

/// In a new network namespace, which the calling thread is in afterwards.
Node make_node(const NodeSettings& settings, std::uint32_t id) {
  const std::string name = "node " + std::to_string(id);
  if (unshare(CLONE_NEWNET) != 0) throw refused("make the network namespace of " + name, errno);
  Node node;
  node.space = Handle(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (node.space.fd() < 0) throw refused("open the network namespace of " + name, errno);
  if (!settings.ipv6) set("ipv6/conf/default/disable_ipv6", "1");  // before: switching it off takes 20 ms
  node.tap = open_tap();
  const int index = static_cast<int>(if_nametoindex(kInterface));
  if (index == 0) throw refused("find the TAP of " + name, errno);
  if (settings.routed) {
    set("ipv4/ip_forward", "1");
    set("ipv6/conf/all/forwarding", "1");
  }
  Messages messages;
  messages.set_up(static_cast<int>(if_nametoindex("lo")));
  messages.set_address(index, mac_of(id), settings.mtu);
  messages.set_up(index);
  messages.add_address(index, address4(id), settings.routed ? 32 : 16);
  if (settings.ipv6) {
    messages.add_address(index, address6(0xfd, 0x77, id), settings.routed ? 128 : 64);
    messages.add_address(index, address6(0xfe, 0x80, id), 64);
  }
  messages.carry_out("set up the TAP of " + name);
  return node;
}

}  // namespace

std::vector<Node> make_nodes(const NodeSettings& settings) {
  std::vector<Node> nodes(settings.last + 1);
  std::atomic<std::uint32_t> next{settings.first};
  std::mutex lock;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (std::uint32_t id = next++; id <= settings.last; id = next++) nodes[id] = make_node(settings, id);
    } catch (...) {
      const std::lock_guard guard(lock);
      if (!error) error = std::current_exception();
      next = settings.last + 1;
    }
  };
  std::vector<std::thread> threads;  // the caller stays in its namespace
  for (int i = 0; i < std::max(1, settings.threads); ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  return nodes;
}

void allow_files(std::uint32_t nodes) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t needed = 2 * rlim_t{nodes} + 256;
  if (limit.rlim_cur >= needed) return;
  const rlim_t before = limit.rlim_max;
  limit.rlim_cur = needed;
  limit.rlim_max = std::max(limit.rlim_max, needed);  // root may raise it up to /proc/sys/fs/nr_open
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw cannot("the limit of open files is " + std::to_string(before) + ", and " + std::to_string(nodes) +
                   " nodes need " + std::to_string(needed),
               "raise the hard limit (ulimit -Hn, /proc/sys/fs/nr_open), or ask for fewer nodes");
}

}  // namespace shakedown::radio_forwarder
