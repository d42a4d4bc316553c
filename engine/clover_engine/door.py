"""The door of a network engine: where it listens, by what names it is called, its certificate."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clover_engine.errors import EngineUnavailable


@dataclass(frozen=True, slots=True)
class Door:
    """Where to listen. `hosts` are what clients may call this engine (`gpu.example:8443`) beside
    its address. One that other machines reach needs such a name, and a certificate or a proxy
    before it that has one. Raises EngineUnavailable.
    """

    host: str
    port: int
    hosts: Sequence[str] = ()
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    def __post_init__(self) -> None:
        try:
            local = ipaddress.ip_address(self.host).is_loopback
        except ValueError as error:
            raise EngineUnavailable(f"{self.host!r} is no IP address: as 0.0.0.0:8443") from error
        if local:
            return
        if not self.hosts:
            raise EngineUnavailable(
                f"{self.host} can be reached from other machines: say with --allow-host by what"
                " name clients call it"
            )
        if not self.certificate and not self.behind_proxy:
            raise EngineUnavailable(
                f"{self.host} can be reached from other machines: give --tls-cert and --tls-key,"
                " or say --behind-proxy where a proxy ends TLS"
            )

    @classmethod
    def parse(
        cls,
        place: str,
        hosts: Sequence[str] = (),
        certificate: Path | None = None,
        key: Path | None = None,
        behind_proxy: bool = False,
    ) -> Door:
        """The door at `HOST:PORT`; port 0 is a free one. Raises EngineUnavailable."""
        host, _, port = place.rpartition(":")
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise EngineUnavailable(f"{place!r} is no address: write HOST:PORT, as 0.0.0.0:8443")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        return cls(host, int(port), hosts, certificate, key, behind_proxy)

    def names(self, port: int) -> frozenset[str]:
        """What a Host header may say, when it listens at `port`."""
        address = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset({*self.hosts, f"{address}:{port}", f"localhost:{port}"})

    def tls(self) -> ssl.SSLContext | None:
        """The server's side of TLS; None without a certificate. Raises EngineUnavailable."""
        if not self.certificate:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise EngineUnavailable(f"{self.certificate} cannot be used: {error}") from error
        return context
