// What others ask of a forwarder, over a Unix socket: a line of words, then as many bytes as it says; the answer is one
// line of JSON. README.md has the commands.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "forwarder.hpp"

namespace shakedown::radio_forwarder {

class Control {
 public:
  /// Listens at `path`, which must not be there. Throws what the kernel refuses.
  Control(Forwarder& forwarder, const std::vector<Node>& nodes, const std::string& path);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Answer, and reap children, until `end` is asked or a signal of `signals` (a signalfd) other than SIGCHLD comes.
  void serve(int signals);

 private:
  struct Client {
    Handle socket;
    std::string unread;
  };
  bool hear(Client& client);  // false: it is gone, or asked for nonsense
  bool answer_all(Client& client);
  std::string answer(const std::vector<std::string>& words, std::string_view bytes);
  std::string change_links(std::string_view bytes);
  [[nodiscard]] std::string traffic() const;
  [[nodiscard]] int space(const std::string& word) const;
  std::string start(const std::vector<std::string>& words, std::string_view bytes);
  void reap();

  Forwarder& forwarder_;
  const std::vector<Node>& nodes_;
  std::string path_;
  Handle listener_;
  std::map<int, Client> clients_;
  bool end_ = false;
};

/// How many bytes follow a line; a number below 0 where the line says so wrongly.
std::int64_t bytes_after(const std::vector<std::string>& words);

/// A process in the network namespace `space` (below 0: in this one), in a session of its own, with its output at the
/// end of the file `log`. Throws what cannot be started; what the child meets is in the log.
int start_process(int space, const std::string& log, const std::vector<std::string>& argv);

}  // namespace shakedown::radio_forwarder
