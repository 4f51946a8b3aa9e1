"""multicast beside iperf2 and beside plain loops of sendto and recv: one sender, one receiver, as fast as they can.

    python scripts/bench/multicast.py --program build/native/multicast/multicast [--mpirun mpirun] [--rounds 10]

Within this host, over the loopback, IPv4, packets of 1,024 bytes, receive buffers of 8 MiB for all. Each round starts all
of them in turn, in an order that changes with the round. Shown is what the receiver got in a second, and what was lost;
the ratio is ours over theirs, round by round. iperf2: Debian's package iperf. iperf3 knows no multicast. Ours is shown
twice: as it is (the sender's kernel cuts packets out of large pieces, UDP_SEGMENT), and with that turned off, where it
makes one packet at a time as the others do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

BYTES = 1024
BUFFER = 8 << 20
GROUP = "239.255.99.1"

#: A packet for each call, nothing checked: what a program does that was not made for speed.
PLAIN = r"""
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return double(t.tv_sec) + 1e-9 * double(t.tv_nsec); }
int main(int argc, char** argv) {
  const bool sends = argc > 3;
  const int s = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<unsigned short>(atoi(argv[2])));
  inet_pton(AF_INET, argv[1], &to.sin_addr);
  in_addr here{};
  inet_pton(AF_INET, "127.0.0.1", &here);
  char data[1024] = {};
  long count = 0;
  double first = 0, last = 0;
  if (sends) {
    setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &here, sizeof here);
    for (first = now(); (last = now()) - first < atof(argv[3]); ++count)
      sendto(s, data, sizeof data, 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
  } else {
    int buffer = 8 << 20;
    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    timeval patience{0, 700000};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bind(s, reinterpret_cast<sockaddr*>(&to), sizeof to);
    ip_mreq join{to.sin_addr, here};
    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join);
    while (recv(s, data, sizeof data, 0) > 0) {
      last = now();
      if (count++ == 0) first = last;
    }
  }
  printf("%ld %.6f\n", count, last - first);
}
"""


class Got(NamedTuple):
    rate: float  # packets/s at the receiver
    loss: float


def ours(args: argparse.Namespace, segments: int) -> Got:
    words = ["--patterns", "one-to-many", "--kernels", "rate", "--rate", "0", "--samples", "1"]
    words += ["--seconds", str(args.seconds), "--bytes", str(BYTES), "--buffer", str(BUFFER), "--interface", "lo"]
    words += ["--ttl", "0", "--segments", str(segments)]
    start = [args.mpirun, "-np", "2", "--bind-to", "none"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    done = subprocess.run([*start, args.program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"multicast ended with {done.returncode}: {done.stderr}")
    cases = {event["kernel"]: event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "case"}
    (interval,) = cases["rate"]["seconds"]
    return Got(1 / interval, cases["loss"]["work"]["loss"])


def iperf(args: argparse.Namespace, port: int) -> Got:
    common = ["-u", "-l", str(BYTES), "-p", str(port), "-w", str(BUFFER)]
    with tempfile.TemporaryFile("w+") as text:
        server = subprocess.Popen(["iperf", "-s", "-B", f"{GROUP}%lo", "-i", "0", *common], stdout=text, stderr=text)
        try:
            time.sleep(0.4)
            client = ["iperf", "-c", GROUP, "-B", "127.0.0.1", "-b", "100G", "-t", str(args.seconds), *common]
            subprocess.run(client, capture_output=True, check=True, timeout=60)
            time.sleep(0.8)
        finally:
            server.send_signal(signal.SIGINT)
            time.sleep(0.2)
            server.kill()
            server.wait()
        text.seek(0)
        said = text.read()
    found = re.search(r"0\.0000-([\d.]+) sec .* (\d+)/(\d+) \(", said)
    if not found:
        sys.exit(f"iperf said nothing that is understood: {said}")
    seconds, lost, sent = float(found[1]), int(found[2]), int(found[3])
    return Got((sent - lost) / seconds, lost / sent)


def plain(args: argparse.Namespace, program: Path, port: int) -> Got:
    receiver = subprocess.Popen([program, GROUP, str(port)], stdout=subprocess.PIPE, text=True)
    time.sleep(0.2)
    sender = subprocess.run([program, GROUP, str(port), str(args.seconds)], capture_output=True, text=True, check=True)
    heard, seconds = receiver.communicate(timeout=60)[0].split()
    sent = int(sender.stdout.split()[0])
    return Got(int(heard) / float(seconds), 1 - int(heard) / sent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="our multicast")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher of the MPI that it was built with (Open MPI)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each sender in each round")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    results: dict[str, list[Got]] = {"multicast": [], "multicast, packet by packet": [], "sendto and recv": []}
    if shutil.which("iperf"):
        results["iperf2"] = []
    else:
        print("iperf2 is not here (Debian: iperf)", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "plain"
        subprocess.run(["c++", "-O2", "-x", "c++", "-", "-o", str(program)], input=PLAIN, text=True, check=True)
        for index in range(args.rounds):
            port = 21000 + os.getpid() % 1000 + 1000 * (index % 5)
            runs = {
                "multicast": partial(ours, args, 64),
                "multicast, packet by packet": partial(ours, args, 1),
                "sendto and recv": partial(plain, args, program, port),
                "iperf2": partial(iperf, args, port),
            }
            names = list(results)
            for name in names[index % len(names) :] + names[: index % len(names)]:
                results[name].append(runs[name]())
            print(
                f"round {index + 1}, load {os.getloadavg()[0]:.1f}: "
                f"{', '.join(f'{n} {g[-1].rate:,.0f}' for n, g in results.items())}",
                file=sys.stderr,
            )
    for name, got in results.items():
        rate = statistics.median(one.rate for one in got)
        print(f"{name}: {rate:,.0f} packets/s, {100 * statistics.median(one.loss for one in got):.2f} % lost")
    for mine in ("multicast", "multicast, packet by packet"):
        for name in ("sendto and recv", "iperf2"):
            if name in results:
                pairs = zip(results[mine], results[name], strict=True)
                ratios = sorted(one.rate / other.rate for one, other in pairs)
                print(f"{mine} to {name}: ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
