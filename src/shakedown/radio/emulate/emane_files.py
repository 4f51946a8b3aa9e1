"""The scenario for EMANE 1.5: a platform with one NEM for each node, rfpipe radios with given losses, an event service.

EMANE then does what our forwarder does, with a process for each node; `shakedown radio serve` tells it the losses. The form
is that of EMANE's own DTDs; one instance a node, since its threads and locks are one NEM's (issues 99 and 181 of EMANE).
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

from ...errors import BadInput
from .scenario import Scenario

#: Endpoints of EMANE's own examples.
OVER_THE_AIR, EVENTS = "224.1.2.8:45702", "224.1.2.8:45703"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE {0} SYSTEM "file:///usr/share/emane/dtd/{0}.dtd">\n'


def write(scenario: Scenario, directory: Path, device: str) -> int:
    """Write all files; how many. Raises BadInput where that cannot be done."""
    texts = {
        "nem.xml": _nem(),
        "transport.xml": _element("transport", {"library": "transvirtual"}, {"bitrate": "0", "mask": "255.255.0.0"}),
        "mac.xml": _mac(scenario),
        "phy.xml": _phy(scenario),
        "pcr.xml": _curve(scenario),
        "eventservice.xml": _event_service(device),
        "eelgenerator.xml": _generator(),
        **{f"platform{node}.xml": _platform(node, device) for node in range(1, scenario.nodes + 1)},
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(directory), hint="another folder") from None
    return len(texts)


def _params(values: dict[str, str], indent: str = "  ") -> str:
    return "".join(
        f"{indent}<param name={quoteattr(name)} value={quoteattr(value)}/>\n" for name, value in values.items()
    )


def _element(kind: str, attributes: dict[str, str], values: dict[str, str], more: str = "") -> str:
    said = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    return f"{_HEAD.format(kind)}<{kind}{said}>\n{_params(values)}{more}</{kind}>\n"


def _nem() -> str:
    parts = "".join(f'  <{part} definition="{part}.xml"/>\n' for part in ("transport", "mac", "phy"))
    return _element("nem", {}, {}, parts)


def _mac(scenario: Scenario) -> str:
    channel = scenario.channel
    values = {
        "enablepromiscuousmode": "off",
        "datarate": f"{channel.rate_bit_s:.0f}",
        "delay": f"{channel.delay_us * 1e-6:.6f}",
        "pcrcurveuri": "pcr.xml",
    }
    return _element("mac", {"library": "rfpipemaclayer"}, values)


def _phy(scenario: Scenario) -> str:
    budget = scenario.budget
    frequency = f"{scenario.radio.frequency_mhz * 1e6:.0f}"
    values = {
        "fixedantennagain": f"{budget.tx_gain_dbi:g}",
        "fixedantennagainenable": "on",
        "bandwidth": f"{budget.bandwidth_hz:.0f}",
        "noisemode": "none",
        "propagationmodel": "precomputed",
        "systemnoisefigure": f"{budget.noise_figure_db:g}",
        "txpower": f"{budget.tx_power_dbm:g}",
        "frequency": frequency,
        "frequencyofinterest": frequency,
        "subid": "1",
    }
    return _element("phy", {}, values)


def _curve(scenario: Scenario) -> str:
    """Probability of completion by the ratio of signal to noise, of frames of 1,000 bytes, a row each half dB."""
    from . import reception

    ratios_db = [scenario.least_snr_db + half_db / 2 for half_db in range(2 * 25)]
    rows = []
    for snr_db, likely in zip(ratios_db, reception.probabilities(scenario, ratios_db, 1000), strict=True):
        rows.append(f'      <row sinr="{snr_db:.2f}" por="{100 * likely:.3f}"/>\n')
        if likely > 0.99999:
            break
    table = '    <table pktsize="1000">\n' + "".join(rows) + "    </table>\n"
    return f"{_HEAD.format('pcr')}<pcr>\n{table}</pcr>\n"


def _platform(node: int, device: str) -> str:
    values = {
        "otamanagerchannelenable": "on",
        "otamanagerdevice": device,
        "otamanagergroup": OVER_THE_AIR,
        "eventservicegroup": EVENTS,
        "eventservicedevice": device,
        "controlportendpoint": "0.0.0.0:47000",
    }
    nem = f'  <nem id="{node}" definition="nem.xml">\n    <transport definition="transport.xml">\n'
    nem += _params({"address": f"10.77.{node >> 8}.{node & 255}"}, "      ") + "    </transport>\n  </nem>\n"
    return _element("platform", {}, values, nem)


def _event_service(device: str) -> str:
    values = {"eventservicegroup": EVENTS, "eventservicedevice": device}
    return _element("eventservice", {}, values, '  <generator definition="eelgenerator.xml"/>\n')


def _generator() -> str:
    loaders = ("pathloss:eelloaderpathloss:delta", "location,velocity,orientation:eelloaderlocation:delta")
    lists = '  <param name="inputfile" value="scenario.eel"/>\n  <paramlist name="loader">\n'
    lists += "".join(f"    <item value={quoteattr(one)}/>\n" for one in loaders) + "  </paramlist>\n"
    return _element("eventgenerator", {"library": "eelgenerator"}, {}, lists)
