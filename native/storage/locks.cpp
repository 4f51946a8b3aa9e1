// Locks between processes of one host.
#include <sys/file.h>
#include <unistd.h>

#include "attempts.hpp"

namespace shakedown::storage {
namespace {

struct flock region(short type, off_t begin, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = length;
  return lock;
}

bool refuses_now() { return errno == EAGAIN || errno == EACCES || errno == EWOULDBLOCK; }

/// A region that one process has locked is refused to another, named with its holder, and free when that one is gone.
void fcntl_locks(const std::string& folder) {
  const std::string name = folder + "/file";
  store(name, std::string(200, 'x'));
  Beside holder([&](Beside& us) {
    const File file(name, O_RDWR);
    struct flock lock = region(F_WRLCK, 0, 100);
    if (fcntl(file.fd(), F_SETLK, &lock) != 0) return errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS ? 3 : 2;
    us.tell();
    for (;;) pause();  // until it is ended
  });
  if (!holder.hear()) {
    if (holder.wait() == 3) throw Absent{"fcntl locks are not offered"};
    throw Broken{"a free file cannot be locked by fcntl"};
  }
  const File file(name, O_RDWR);
  struct flock lock = region(F_WRLCK, 50, 10);
  need(fcntl(file.fd(), F_SETLK, &lock) != 0 && refuses_now(),
       "a region that another process holds was locked (fcntl)");
  lock = region(F_RDLCK, 50, 10);
  need(fcntl(file.fd(), F_SETLK, &lock) != 0 && refuses_now(),
       "a region locked for writing was locked for reading (fcntl)");
  lock = region(F_WRLCK, 0, 100);
  need(fcntl(file.fd(), F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK && lock.l_pid == holder.pid(),
       "F_GETLK does not name who holds a lock");
  lock = region(F_WRLCK, 100, 100);
  need(fcntl(file.fd(), F_SETLK, &lock) == 0, "a region beside a locked one was refused (fcntl)");
  holder.end();
  lock = region(F_WRLCK, 0, 100);
  bool freed = false;
  for (int tries = 0; tries < 100 && !freed; ++tries) {
    freed = fcntl(file.fd(), F_SETLK, &lock) == 0;
    if (!freed) usleep(10'000);
  }
  need(freed, "a lock outlives the process that held it (fcntl)");
}

void flock_locks(const std::string& folder) {
  const std::string name = folder + "/file";
  store(name, "x");
  Beside holder([&](Beside& us) {
    const File file(name, O_RDWR);
    if (flock(file.fd(), LOCK_EX | LOCK_NB) != 0)
      return errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS ? 3 : 2;
    us.tell();
    for (;;) pause();
  });
  if (!holder.hear()) {
    if (holder.wait() == 3) throw Absent{"flock is not offered"};
    throw Broken{"a free file cannot be locked by flock"};
  }
  const File file(name, O_RDWR);
  need(flock(file.fd(), LOCK_EX | LOCK_NB) != 0 && refuses_now(),
       "a file that another process holds was locked (flock)");
  need(flock(file.fd(), LOCK_SH | LOCK_NB) != 0 && refuses_now(), "a file locked alone was shared (flock)");
  holder.end();
  bool freed = false;
  for (int tries = 0; tries < 100 && !freed; ++tries) {
    freed = flock(file.fd(), LOCK_EX | LOCK_NB) == 0;
    if (!freed) usleep(10'000);
  }
  need(freed, "a lock outlives the process that held it (flock)");
}

/// Many processes that count one number up, each under the lock, lose no count.
void counted(const std::string& folder) {
  constexpr int kEach = 100;
  const std::string name = folder + "/counter";
  store(name, "0");
  const auto count = [&] {
    const File file(name, O_RDWR);
    for (int i = 0; i < kEach; ++i) {
      struct flock lock = region(F_WRLCK, 0, 0);
      if (fcntl(file.fd(), F_SETLKW, &lock) != 0)
        return errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS ? 3 : 2;
      const int value = std::stoi(read_all(file.fd(), 20, 0));
      write_all(file.fd(), std::to_string(value + 1), 0);
      lock = region(F_UNLCK, 0, 0);
      if (fcntl(file.fd(), F_SETLK, &lock) != 0) return 2;
    }
    return 0;
  };
  Beside a([&](Beside&) { return count(); });
  Beside b([&](Beside&) { return count(); });
  const int first = a.wait();
  const int second = b.wait();
  if (first == 3 || second == 3) throw Absent{"fcntl locks are not offered"};
  need(first == 0 && second == 0, "waiting for a lock failed");
  const std::string found = load(name);
  need(found == std::to_string(2 * kEach),
       "of " + std::to_string(2 * kEach) + " counts under a lock, " + found + " are left");
}

}  // namespace

std::vector<Feature> lock_features() {
  return {
      {"fcntl-locks", "fcntl locks keep other processes out, by region", true, fcntl_locks},
      {"lock-counts", "counting under a lock loses nothing", true, counted},
      {"flock", "flock keeps other processes out", false, flock_locks},
  };
}

}  // namespace shakedown::storage
