"""The engines' configuration and the network's commands, as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.rehearsal_cluster import (
    daemons,
    entering,
    fence,
    files,
    gridengine,
    namespaces,
    needs,
    network,
    slurm,
    ssh,
    starting,
)
from shakedown.rehearsal_cluster.settings import Description, Layout, Link, Settings

HERE = Path("/tmp/lab")


def described(layout: Layout = "root", **asked: object) -> Description:
    ports = {"slurmctld": 5001, "slurmdbd": 5002, "slurmd@node1": 5003, "slurmd@node2": 5004}
    settings = Settings(**{"nodes": 2, **asked})  # type: ignore[arg-type]
    return Description(version="1", settings=settings, layout=layout, ports=ports if layout == "plain" else {})


def values(text: str) -> dict[str, str]:
    """The single-valued lines of slurm.conf."""
    return dict(line.split("=", 1) for line in text.splitlines() if " " not in line.split("=", 1)[0])


# ------------------------------------------------------------------------------------------------------------ Slurm


def test_slurm_conf_names_the_controller_by_name_and_address() -> None:
    text = slurm.slurm_conf(HERE, described(), user="root", host="ctl")
    assert "SlurmctldHost=ctl(10.77.0.1)" in text.splitlines()
    assert "NodeName=node2 NodeAddr=10.77.0.12" in text.splitlines()
    assert "PartitionName=batch Nodes=node[1-2] Default=YES MaxTime=1-0 DefaultTime=10 State=UP" in text.splitlines()


def test_nothing_of_a_cluster_lies_outside_its_directory() -> None:
    """Two clusters at once must not meet in a file, a socket or a key."""
    for layout in ("root", "user", "plain"):
        found = described(layout)
        texts = (
            slurm.slurm_conf(HERE, found, user="me", host="vm"),
            slurm.slurmdbd_conf(HERE, found, user="me", host="vm", password="x"),
            slurm.my_cnf(HERE, "mysql"),
            slurm.gres_conf(HERE, found),
            gridengine.bootstrap(HERE, "root"),
        )
        paths = re.findall(r"(?<![\w.])(/[\w./%-]+)", "\n".join(texts))
        assert {path for path in paths if not path.startswith("/tmp/lab/")} <= {"/bin/true", "/usr/sbin"}


def test_without_namespaces_each_daemon_has_a_port_and_each_node_a_scratch() -> None:
    text = slurm.slurm_conf(HERE, described("plain"), user="me", host="vm")
    assert "NodeName=node2 NodeHostname=vm NodeAddr=127.0.0.1 Port=5004" in text.splitlines()
    assert values(text)["SlurmctldPort"] == "5001" and values(text)["AccountingStoragePort"] == "5002"
    assert "%n" in values(text)["TmpFS"]
    assert "DbdPort=5002" in slurm.slurmdbd_conf(HERE, described("plain"), user="me", host="vm", password="x")


def test_gpus_are_files_of_the_cluster_s_own() -> None:
    assert slurm.gres_conf(HERE, described(gpus=4, gpu_type="a100")) == (
        "AutoDetect=off\nNodeName=node[1-2] Name=gpu Type=a100 File=/tmp/lab/dev/nvidia[0-3]\n"
    )
    assert "File=/tmp/lab/dev/nvidia0\n" in slurm.gres_conf(HERE, described(gpus=1))
    without = slurm.slurm_conf(HERE, described(gpus=0), user="root", host="ctl")
    assert "gpu" not in without and "gpu" not in slurm.gres_conf(HERE, described(gpus=0))


def test_the_fence_tracks_by_control_groups() -> None:
    assert values(slurm.slurm_conf(HERE, described(fence=True), user="root", host="ctl"))["TaskPlugin"] == "task/cgroup"
    assert values(slurm.slurm_conf(HERE, described(), user="root", host="ctl"))["TaskPlugin"] == "task/none"
    assert "ConstrainDevices=yes" in slurm.cgroup_conf()
    assert fence.group(HERE) == fence.group(HERE) != fence.group(Path("/tmp/lab2"))
    with pytest.raises(Unavailable, match="root"):
        fence.check("user")


def test_nodes_as_sinfo_prints_them() -> None:
    text = "node1|idle|none\nnode2|down*|Not responding\nnode3|drained|HC: disk | full\n"
    found = slurm.parse_nodes(text)
    assert found == {
        "node1": ("idle", ""),
        "node2": ("down*", "Not responding"),
        "node3": ("drained", "HC: disk | full"),
    }
    assert [slurm.answering(state) for state, _ in found.values()] == [True, False, True]
    assert not slurm.answering("") and not slurm.answering("unknown*") and not slurm.answering("unknown")
    assert slurm.answering("down")  # by a person: it is heard all the same
    assert slurm.parse_nodes("slurm_load_partitions: Unable to contact slurm controller") == {}


# ------------------------------------------------------------------------------------------------------------ Grid Engine


def test_grid_engine_s_own_configuration_is_changed_where_a_rehearsal_needs_it() -> None:
    default = "min_uid              1000\nmax_unheard          00:05:00\nloglevel             log_warning\n"
    lines = gridengine.configuration(default, HERE, described(silence_s=20), "root").splitlines()
    assert lines[:3] == ["min_uid 0", "max_unheard 00:00:20", "loglevel             log_warning"]
    assert "reschedule_unknown 00:00:40" in lines and "execd_spool_dir /tmp/lab/ge/execd" in lines


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00:00"), (75, "00:01:15"), (7322, "02:02:02")])
def test_clock(seconds: int, text: str) -> None:
    assert gridengine.clock(seconds) == text


def test_a_complex_is_there_once_however_often_it_is_put() -> None:
    once = gridengine.complexes("#name shortcut\narch a RESTRING == YES NO NONE 0\n", 4)
    assert gridengine.complexes(once, 4) == once
    assert once.count("\ngpu ") == 1
    assert gridengine.host_values(4) == "gpu=4,exclusive=true" and gridengine.host_values(0) == "exclusive=true"


def test_whole_nodes_are_multiples_of_their_slots() -> None:
    found = gridengine.environments(described(cpus=8))
    assert "allocation_rule 8\n" in found["nodes"] and "allocation_rule $round_robin\n" in found["mpi"]
    assert "pe_list mpi fill smp nodes" in gridengine.queue(HERE, described(cpus=8))
    assert "slots 8" in gridengine.queue(HERE, described(cpus=8)).splitlines()


def test_queues_as_qstat_prints_them() -> None:
    text = (
        "queuename                      qtype resv/used/tot. load_avg arch          states\n"
        "---------------------------------------------------------------------------------\n"
        "all.q@node1                    BIP   0/0/4          2.88     lx-amd64      \n"
        "all.q@node2                    BIP   0/0/4          -NA-     lx-amd64      au\n"
    )
    assert gridengine.parse_queues(text) == {"node1": "", "node2": "au"}


# ------------------------------------------------------------------------------------------------------------ the network


def test_netem_says_what_is_asked_and_no_more() -> None:
    words = network.netem("eth0", Link(delay_s=0.001, loss=0.001, rate_bit_s=1e9))
    assert words[:6] == ["qdisc", "replace", "dev", "eth0", "root", "netem"]
    assert " ".join(words[6:12]) == "delay 1000us loss 0.100000% rate 1000000000bit"
    assert "delay" not in network.netem("eth0", Link(loss=0.1)) and "rate" not in network.netem("eth0", Link(loss=0.1))
    # what is on its way at 1 Gbit/s for a millisecond, and what waits for 50 ms, fits in
    assert int(words[-1]) * 1514 * 8 >= 1e9 * 0.051


def test_a_token_bucket_holds_what_the_kernel_hands_over_at_once() -> None:
    for rate in (1e5, 1e8, 4e10):
        words = network.tbf("vnode1", Link(rate_bit_s=rate))
        burst = int(words[words.index("burst") + 1].removesuffix("b"))
        limit = int(words[words.index("limit") + 1].removesuffix("b"))
        assert burst > 1 << 16 and limit > burst


def test_names_of_devices_fit_into_the_kernel_s_fifteen_bytes() -> None:
    assert all(len(name) <= 15 for name in (network.port_name("node200"), *network.taps("node200")))


def test_a_node_has_both_families() -> None:
    lines = network.inside("node1")
    assert "addr add 10.77.0.11/24 dev eth0" in lines and "addr add fd77::b/64 dev eth0 nodad" in lines


# ------------------------------------------------------------------------------------------------------------ this machine


def test_accounts_are_added_once_and_replace_none_of_the_machine_s() -> None:
    passwd = "root:x:0:0:root:/root:/bin/bash\nmysql:x:105:114::/nonexistent:/bin/false\n"
    once = files.accounts(passwd, HERE)
    assert once.startswith(passwd) and "alice:x:20001:20001:rehearsal:/tmp/lab/home/alice:/bin/bash\n" in once
    assert files.accounts(once, HERE) == once
    assert files.groups("root:x:0:\n") == "root:x:0:\nalice:x:20001:\nbob:x:20002:\n"


def test_missing_programs_are_named_with_their_packages_all_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(namespaces, "search_path", lambda: str(tmp_path))
    with pytest.raises(Unavailable) as raised:
        needs.check(("slurm", "gridengine"))
    assert "slurmctld" in raised.value.what and "sge_qmaster" in raised.value.what
    assert {"slurmd", "mariadb-server", "munge", "gridengine-exec", "iproute2"} <= set(raised.value.hint.split())


def test_grid_engine_is_not_made_without_namespaces() -> None:
    with pytest.raises(Unavailable, match="names and addresses"):
        needs.layout("plain", ("gridengine",))


def test_what_a_command_inherits_is_no_engine_s_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "AWS_SECRET_ACCESS_KEY", "PMIX_RANK", "LD_PRELOAD"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LC_ALL", "C")
    found = entering.environment(HERE, described())
    assert found["LC_ALL"] == "C" and found["SLURM_CONF"] == "/tmp/lab/etc/slurm.conf"
    assert not {"SLURM_JOB_ID", "AWS_SECRET_ACCESS_KEY", "PMIX_RANK", "LD_PRELOAD"} & set(found)


def test_a_host_or_a_user_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match="node3"):
        entering.check_host(described(), "node3")
    with pytest.raises(BadInput, match="alice"):
        entering.home(HERE, described("plain"), "alice")


# -------------------------------------------------------------------------------------------------------------- ssh


def test_each_node_has_a_server_of_ssh_with_keys_of_the_cluster_s_own() -> None:
    found = described(ssh=True)
    text = ssh.server(HERE, found, "node2")
    lines = text.splitlines()
    assert {"Port 22", "HostKey /tmp/lab/etc/ssh/host_node2", "PasswordAuthentication no", "UsePAM no"} <= set(lines)
    assert "SetEnv SHAKEDOWN_CLUSTER=/tmp/lab TMPDIR=/tmp/lab/scratch SLURM_CONF=/tmp/lab/etc/slurm.conf" in lines
    for path in re.findall(r"(?<![\w.])(/[\w./%-]+)", text + ssh.client(HERE / "etc" / "ssh")):
        assert path.startswith("/tmp/lab") or path == "/dev/null"
    assert ssh.command(HERE, "node2")[-1] == "/tmp/lab/etc/ssh/sshd_node2"
    assert daemons.names(found)[-2:] == ("sshd@node1", "sshd@node2") and "sshd@node1" not in daemons.names(described())


def test_a_node_is_known_by_its_name_and_both_addresses() -> None:
    assert ssh.known_line("node2", "ssh-ed25519 AAAA host_node2\n") == "node2,10.77.0.12,fd77::c ssh-ed25519 AAAA\n"


def test_no_account_is_locked_and_none_has_a_password() -> None:
    assert ssh.shadow("root:x:0:0:root:/root:/bin/bash\nalice:x:20001:20001::/h:/bin/sh\n") == (
        "root:*:::::::\nalice:*:::::::\n"
    )


def test_ssh_needs_hosts_of_their_own_and_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="layout plain"):
        starting.check_ssh(Settings(ssh=True), "plain")
    starting.check_ssh(Settings(ssh=True), "root")
    starting.check_ssh(Settings(), "plain")
    monkeypatch.setattr(needs.shutil, "which", lambda name, path=None: None if name == "sshd" else "/usr/bin/x")
    assert needs.missing((), network=False, ssh=True) == {"sshd": "openssh-server"}
    assert needs.missing((), network=False) == {}


def test_ranks_wait_for_each_other_around_a_ring() -> None:
    assert slurm.mpi_conf() == "PMIxCollFence=ring\n"
