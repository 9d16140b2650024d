"""TLS for clients: the certificate that this member presents, and the authority by which it verifies clients'
certificates.

Each reading of the files makes a new context, which is never changed. A reload therefore does not disturb handshakes in
progress or connections that were encrypted with an earlier context. A connection remembers the context with which it
was accepted, because SCRAM's channel binding covers the certificate that the client has seen.

With `client_ca`, the member requests a certificate from each client, but a client may present none; whether one is
required is decided by the hba rules, as in PostgreSQL. A certificate that the authority did not sign fails the
handshake.

Rejected: the contexts of the mesh (`engine.exchange.mesh_tls`). Members always present certificates to each other and
speak TLS 1.3 only, while clients may be any program. The code that reads the files and words the errors is shared.

Source: PostgreSQL 15, 19.9 "Secure TCP/IP Connections with SSL"; be-secure-openssl.c (be_tls_init).
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Final, Literal

from engine.exchange.mesh_tls import MeshTlsError, load_authority, load_own
from wire.dataclass import dataclass

MinimumVersion = Literal["1.2", "1.3"]
_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class ClientTlsError(Exception):
    """A mistake in `tls`; the message begins with the key."""


@dataclass(frozen=True, slots=True)
class ClientTlsFiles:
    """PEM files. client_ca: the authority that signs clients' certificates; None: no certificate is requested from
    clients.
    """

    certificate: str
    key: str
    client_ca: str | None = None
    min_version: MinimumVersion = "1.2"


@dataclass(frozen=True, slots=True)
class ClientTls:
    """One reading of the files. certificate: the certificate that is presented to clients, as PEM."""

    context: ssl.SSLContext
    certificate: str = ""

    @classmethod
    def read(cls, files: ClientTlsFiles) -> ClientTls:
        """Read the files. Blocks on the file system. Raises ClientTlsError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _VERSIONS[files.min_version]
        try:
            load_own(context, files.certificate, files.key)
            if files.client_ca is not None:
                load_authority(context, files.client_ca, "client_ca")
                context.verify_mode = ssl.CERT_OPTIONAL
            return cls(context, Path(files.certificate).read_text("ascii"))
        except MeshTlsError as error:
            raise ClientTlsError(str(error)) from None
        except (OSError, UnicodeError) as error:
            raise ClientTlsError(f"certificate: cannot read {files.certificate}: {error}") from None


def common_name(connection: ssl.SSLObject | None) -> str | None:
    """Return the common name of the certificate that a client has presented and that the authority has signed. Return
    None if the client has presented none.
    """
    certificate: dict[str, Any] = (connection.getpeercert() if connection is not None else None) or {}
    if not certificate:
        return None
    names = [value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"]
    return names[-1] if names else ""
