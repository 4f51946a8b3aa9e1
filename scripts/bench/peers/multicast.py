"""multicast beside iperf2 and beside plain loops of sendto and recv: one sender, one receiver, as fast as they can.

Within this host, over the loopback, IPv4, packets of 1,024 bytes, receive buffers of 8 MiB for all. Shown is what the
receiver got in a second, and what was lost. iperf2: Debian's package iperf; iperf3 knows no multicast. Ours is shown twice:
as it is (the sender's kernel cuts packets out of large pieces, UDP_SEGMENT), and with that turned off, where it makes one
packet at a time as the others do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
from common import Option

from shakedown.errors import CannotMeasure

from . import Figure, Group, Pass, Rates, Row, program

BYTES = 1024
BUFFER = 8 << 20
GROUP = "239.255.99.1"
SINGLE = "multicast, packet by packet"

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


def got(side: str, packets_s: float, loss: float) -> Rates:
    return {side: {"packets": packets_s, "lost": loss}}


def ours(asked: argparse.Namespace, side: str, segments: int) -> Rates:
    words = ["--patterns", "one-to-many", "--kernels", "rate", "--rate", "0", "--samples", "1"]
    words += ["--seconds", str(asked.seconds), "--bytes", str(BYTES), "--buffer", str(BUFFER), "--interface", "lo"]
    words += ["--ttl", "0", "--segments", str(segments)]
    found = common.cases([asked.mpirun, "-np", "2", "--bind-to", "none", program(asked, "multicast"), *words])
    by_kernel = {case["kernel"]: case for case in found}
    (interval,) = by_kernel["rate"]["seconds"]
    return got(side, 1 / interval, by_kernel["loss"]["work"]["loss"])


def iperf(asked: argparse.Namespace, ports: Iterator[int]) -> Rates:
    words = ["-u", "-l", str(BYTES), "-p", str(next(ports)), "-w", str(BUFFER)]
    with tempfile.TemporaryFile("w+") as text:
        server = subprocess.Popen(["iperf", "-s", "-B", f"{GROUP}%lo", "-i", "0", *words], stdout=text, stderr=text)
        try:
            time.sleep(0.4)
            client = ["iperf", "-c", GROUP, "-B", "127.0.0.1", "-b", "100G", "-t", str(asked.seconds), *words]
            common.output(client, limit_s=60)
            time.sleep(0.8)
        finally:
            server.send_signal(signal.SIGINT)
            time.sleep(0.2)
            server.kill()
            server.wait()
        text.seek(0)
        printed = text.read()
    found = re.search(r"0\.0000-([\d.]+) sec .* (\d+)/(\d+) \(", printed)
    if not found:
        raise CannotMeasure(f"iperf printed something else: {printed}")
    seconds, lost, sent = float(found[1]), int(found[2]), int(found[3])
    return got("iperf2", (sent - lost) / seconds, lost / sent)


def plain(asked: argparse.Namespace, path: Path, ports: Iterator[int]) -> Rates:
    argv = [str(path), GROUP, str(next(ports))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as receiver:
        time.sleep(0.2)
        sent = int(common.output([*argv, str(asked.seconds)]).split()[0])
        heard, seconds = receiver.communicate(timeout=60)[0].split()
    return got("sendto and recv", int(heard) / float(seconds), 1 - int(heard) / sent)


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    # A port of its own for each pass: what was left in a queue is nobody's.
    ports = (21000 + (os.getpid() + one) % 10_000 for one in itertools.count())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain"
        common.output(["c++", "-O2", "-x", "c++", "-", "-o", path], input=PLAIN)
        passes = [
            Pass("multicast", partial(ours, asked, "multicast", 64)),
            Pass(SINGLE, partial(ours, asked, SINGLE, 1)),
            Pass("sendto and recv", partial(plain, asked, path, ports)),
            Pass("iperf2", partial(iperf, asked, ports), {"iperf": "sudo apt-get install iperf"}),
        ]
        figures = {"packets": Figure("packets/s"), "lost": Figure("%", 100, better="")}
        yield Group("multicast over the loopback", figures, passes, ["multicast", SINGLE])


ROW = Row(
    groups,
    rounds=10,
    options={
        "mpirun": Option("mpirun", help="the launcher of the MPI that it was built with (Open MPI)"),
        "seconds": Option(1.0, 0.05, "of each sender in each round"),
    },
)
