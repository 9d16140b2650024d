"""TLS between members: the requirements that both ends enforce, in one place.

Where `cluster.tls` is configured, every connection to a mesh port, control or data, uses TLS 1.3, and both ends present
a certificate of the cluster's authority. One certificate serves a member in both roles.

**Names in certificates.** A certificate must carry the *member's name* as a subject alternative name (DNS), letter for
letter. Everything that the mesh grants is granted to a name: queries are named by their initiator, and a plan says
which member sends to which. A certificate for an address would prove that the dialled machine was reached; that tells
the accepting end nothing, and it changes whenever a member moves. So the end that dials a seed, of which only the
address is known, takes the name from `welcome` and compares it then, before it proves anything. The accepting end
compares after `proof`. A sender knows its receiver from the plan, and shows its token to nobody else. The sender of a
stream has to satisfy only the authority and the token: only the member that received the token has it, and Spark tasks
may run on machines that have certificates of their own.

OpenSSL's own comparison of names is not used: it ignores case and accepts wildcards, whereas members' names are
case-sensitive and each denotes one member.

**Configuration errors** show at start: a member first performs a handshake with itself, in memory, in both directions.
Whatever makes that fail (a key that does not match, an authority that did not sign, a date, a purpose, a name) would
make every other member refuse it.

Considered and rejected: putting the key into what Spark ships to its tasks (Spark's network is configured separately
and mostly unencrypted, and a member's key is worth more than one query's token); session resumption tickets (a blocking
sender that never reads would leave the ticket in its socket, and closing that socket would then discard the last
batches); and a compiled library for reading certificates (the handshake gives the names).

Neighbours: `engine.exchange.tls_server` accepts; `engine.exchange.outbound`, `engine.exchange.send` and
`server.cluster.mesh_link` dial.
"""

from __future__ import annotations

import socket
import ssl
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from wire.dataclass import dataclass

#: OpenSSL's reasons for a first message that is not the beginning of a handshake.
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_REASONS: Final = {
    **dict.fromkeys(_NOT_TLS, "it does not speak TLS (is cluster.tls configured there?)"),
    "UNSUPPORTED_PROTOCOL": "it does not speak TLS 1.3",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not know the authority of this member's certificate",
}


class MeshTlsError(Exception):
    """An error in the configuration `cluster.tls`. key: the setting of the file that it concerns."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")


class UntrustedPeer(Exception):
    """The peer's certificate is valid, but it is not that of the expected member."""


class HandshakeFailed(Exception):
    """A worker reached no member that it could trust. Only the text of a Spark task's error reaches its member, so the
    text carries the SQLSTATE (`engine.executors.spark.errors`).
    """

    def __init__(self, member: str, why: str) -> None:
        super().__init__(f"SQLSTATE:08006:could not open a data connection to member {member}: {why}")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files, by absolute path: the certificate (with its chain up to the authority), its key, the authority."""

    certificate: str
    key: str
    authority: str


@dataclass(frozen=True, slots=True)
class TlsPeer:
    """The TLS parameters of a worker outside of the member's process: the files, which must also exist on its machine,
    and the member that it must reach.
    """

    files: TlsFiles
    member: str


class MeshTls:
    """A member's TLS contexts, created once. member: its name. Blocks on the file system; raises MeshTlsError."""

    def __init__(self, files: TlsFiles, member: str) -> None:
        self._files = files
        self.member = member
        self.accepting = _context(files, ssl.PROTOCOL_TLS_SERVER)
        self.dialling = _context(files, ssl.PROTOCOL_TLS_CLIENT)
        _try_out(self.accepting, self.dialling, member)

    def peer(self, member: str) -> TlsPeer:
        """Return the parameters for a worker that is to connect to a member."""
        return TlsPeer(self._files, member)


def require_member(peer: ssl.SSLObject | ssl.SSLSocket, member: str) -> None:
    """Raise UntrustedPeer unless the peer's certificate carries the member's name."""
    names = _names(peer)
    if member not in names:
        shown = ", ".join(names) or "nobody"
        raise UntrustedPeer(f"the certificate of member {member} names {shown}")


def secure_connection(connection: socket.socket, peer: TlsPeer) -> ssl.SSLSocket:
    """Perform a worker's blocking handshake. Takes ownership of the socket. Raises HandshakeFailed."""
    try:
        wrapped = _client_context(peer.files).wrap_socket(connection)
    except OSError as error:
        raise HandshakeFailed(peer.member, explain_failure(error)) from error
    except MeshTlsError as error:
        raise HandshakeFailed(peer.member, f"on the machine of the Spark task: cluster.tls.{error}") from error
    try:
        require_member(wrapped, peer.member)
    except UntrustedPeer as error:
        wrapped.close()
        raise HandshakeFailed(peer.member, str(error)) from error
    return wrapped


def explain_failure(error: OSError) -> str:
    """Return the reason why a connection could not be made, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason, f"TLS failed: {error.strerror or error.reason}")
    if isinstance(error, ConnectionError) and error.strerror is None:
        return str(error) or "it closed the connection during the TLS handshake"
    return error.strerror or str(error)


def _names(peer: ssl.SSLObject | ssl.SSLSocket) -> list[str]:
    certificate: dict[str, Any] = peer.getpeercert() or {}
    return [name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS"]


@lru_cache(4)
def _client_context(files: TlsFiles) -> ssl.SSLContext:
    return _context(files, ssl.PROTOCOL_TLS_CLIENT)


def _context(files: TlsFiles, protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # `require_member` does.
    context.verify_mode = ssl.CERT_REQUIRED
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    load_own(context, files.certificate, files.key)
    load_authority(context, files.authority, "authority")
    return context


def load_own(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load a context's own certificate and key from PEM files. Raises MeshTlsError."""
    _require_pem("certificate", certificate, "CERTIFICATE-----")
    _require_pem("key", key, "PRIVATE KEY-----")
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise MeshTlsError("key", f"{key} does not belong to the certificate {certificate}") from None
        raise MeshTlsError("certificate", f"cannot use {certificate} with {key}: {error}") from None


def load_authority(context: ssl.SSLContext, authority: str, name: str) -> None:
    """Load the authority whose signatures a context accepts, from a PEM file. name: the setting that names the file.
    Raises MeshTlsError.
    """
    _require_pem(name, authority, "CERTIFICATE-----")
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError as error:
        raise MeshTlsError(name, f"cannot use {authority}: {error}") from None


def _require_pem(key: str, path: str, marker: str) -> None:
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise MeshTlsError(key, f"cannot read {path}: {error.strerror}") from None
    if marker.encode() not in text:
        raise MeshTlsError(key, f"expected PEM with -----BEGIN {marker} in {path}")


def _no_password() -> str:
    """Refuse to give a password, for which OpenSSL would otherwise ask at the terminal."""
    raise MeshTlsError("key", "expected a key without a passphrase, readable by the member's user only")


def _try_out(accepting: ssl.SSLContext, dialling: ssl.SSLContext, member: str) -> None:
    """Perform the handshake that another member would perform with this one."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialler, acceptor = dialling.wrap_bio(down, up), accepting.wrap_bio(up, down, server_side=True)
    try:
        # In its second step, each end verifies what the other has presented in its first.
        for end in (dialler, acceptor, dialler, acceptor):
            _shake(end)
        require_member(dialler, member)
    except ssl.SSLCertVerificationError as error:
        raise MeshTlsError(
            "certificate", f"other members would not accept it from this authority: {error.verify_message}"
        ) from None
    except ssl.SSLError as error:
        raise MeshTlsError("certificate", f"a handshake with it fails: {error}") from None
    except UntrustedPeer as error:
        raise MeshTlsError(
            "certificate", f"{error}; expected its name among the subject alternative names, as in DNS:{member}"
        ) from None


def _shake(end: ssl.SSLObject) -> None:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return
