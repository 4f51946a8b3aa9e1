"""HTTP for the meters that speak it: one connection that stays open, JSON answers, failures as statuses."""

from __future__ import annotations

import email.utils
import ssl
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from ...errors import UNREADABLE, BadInput
from . import Status, Target
from ._network import Lost, endpoint, library, switch

OPTIONS = {
    "insecure": "1 takes any TLS certificate",
    "ca": "file with the certificates to trust",
    "plain": "1 speaks HTTP without TLS",
}


class Answer:
    """One answer with its body decoded."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class Http:
    """A client for one device. Not shared between threads."""

    def __init__(
        self,
        target: Target,
        port: int,
        *,
        tls: bool,
        auth: tuple[str, str] | None = None,  # user and password, sent as they are (HTTP Basic)
        digest: tuple[str, str] | None = None,  # user and password, of which only a digest is sent
    ) -> None:
        httpx = library("httpx", "httpx")
        host, found = endpoint(target, port)
        name = f"[{host}]" if ":" in host else host
        self._errors = httpx.HTTPError
        self._invalid = httpx.InvalidURL
        self._client = httpx.Client(
            base_url=f"http{'s' if tls else ''}://{name}:{found}",
            verify=_trust(target) if tls else False,
            auth=httpx.DigestAuth(*digest) if digest else auth,
            trust_env=False,  # a device in the management network is not behind the user's proxy
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=300.0),
            headers={"Accept": "application/json", "User-Agent": "shakedown"},
        )

    def send(
        self,
        path: str,
        limit: float,
        *,
        method: str = "GET",
        body: object = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """One answer of status 200 to 299. Raises Lost for every other, with the status that it makes of a reading."""
        try:
            said = self._client.request(
                method,
                path,
                json=body,
                headers=dict(headers or {}),
                params=dict(query) if query else None,
                timeout=limit,
            )
        except (self._errors, self._invalid, ssl.SSLError) as error:
            raise Lost(f"{path}: {str(error) or type(error).__name__}") from None
        if not said.is_success:
            raise refusal(path, said.status_code, said.headers)
        if not said.content:
            return Answer(said.status_code, said.headers, None)
        try:
            return Answer(said.status_code, said.headers, msgspec.json.decode(said.content))
        except UNREADABLE as error:
            raise Lost(f"{path}: sent no valid JSON ({error})", broken=False) from None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class HttpLost(Lost):
    """An answer with a status other than success; ``code`` is HTTP's."""

    code: int = 0


def refusal(path: str, code: int, headers: Mapping[str, str]) -> HttpLost:
    """What an HTTP status makes of a reading."""
    wait_s = retry_after_s(headers.get("retry-after", ""), time.time()) if code in (429, 503) else 0.0
    status = Status.GAP
    if code in (401, 403):
        status = Status.REFUSED
    elif code in (404, 405, 410, 501):
        status = Status.UNSUPPORTED
    lost = HttpLost(f"{path}: HTTP {code}", status, wait_s=wait_s, broken=code in (401, 403, 429, 503))
    lost.code = code
    return lost


def retry_after_s(text: str, now_s: float) -> float:
    """How long a Retry-After asks to wait: seconds, or until an HTTP date; 0 where it says neither. At most an hour."""
    try:
        wait_s = float(text)
    except ValueError:
        try:
            wait_s = email.utils.parsedate_to_datetime(text).timestamp() - now_s
        except (ValueError, TypeError):
            return 0.0
    return min(max(wait_s, 0.0), 3600.0) if wait_s == wait_s else 0.0


def _trust(target: Target) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=target.options.get("ca"))
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"the certificates cannot be read: {error}", where=target.options.get("ca", "")) from None
    if switch(target, "insecure"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
