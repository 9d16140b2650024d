"""A client's socket as the operating system knows it: addresses, descriptor, TLS."""

from __future__ import annotations

import asyncio
import ssl


class ClientSocket:
    """See the module's docstring. transport: None before the socket is connected, and after it was handed over."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None

    @property
    def address(self) -> tuple[str, int] | None:
        """The address to which the client has connected; None for a Unix-domain socket."""
        name = self.transport.get_extra_info("sockname") if self.transport else None
        return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None

    @property
    def here(self) -> str:
        """The address to which the client has connected; empty if there is none."""
        return self.address[0] if self.address else ""

    @property
    def peer(self) -> tuple[str, int] | None:
        """The client's address and port; None if it has none."""
        name = self.transport.get_extra_info("peername") if self.transport else None
        return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None

    @property
    def descriptor(self) -> int:
        """The descriptor of the socket; -1 after it is closed."""
        found = self.transport.get_extra_info("socket") if self.transport else None
        return int(found.fileno()) if found is not None else -1

    @property
    def ssl_object(self) -> ssl.SSLObject | None:
        """The connection's TLS object; None without encryption."""
        return self.transport.get_extra_info("ssl_object") if self.transport else None
