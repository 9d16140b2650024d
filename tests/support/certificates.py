"""Certificates for tests, made by openssl(1): certificate authorities, and members' certificates that they sign."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

from engine.exchange.mesh_tls import TlsFiles

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """A certificate authority with its own folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._numbers = itertools.count(1)
        self.certificate = folder / "authority.crt"
        self._key = folder / "authority.key"
        openssl("req", "-x509", *_KEY, "-days", "2", "-subj", "/CN=authority", "-keyout", self._key,
                 "-out", self.certificate)  # fmt: skip

    def issue(self, member: str, *, names: str | None = None, days: int = 2, purpose: str | None = None) -> TlsFiles:
        """Issue a member's certificate. Returns its files. names: the subject alternative names, as openssl takes them;
        DNS:<member> if not given.
        """
        stem = f"{member}-{next(self._numbers)}"
        key, request, certificate = (self.folder / f"{stem}.{kind}" for kind in ("key", "csr", "crt"))
        extensions = ["-addext", f"subjectAltName={names or f'DNS:{member}'}"]
        if purpose is not None:
            extensions += ["-addext", f"extendedKeyUsage={purpose}"]
        openssl("req", "-new", *_KEY, "-subj", f"/CN={member}", *extensions, "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
                 "-days", str(days), "-copy_extensions", "copy", "-out", certificate)  # fmt: skip
        return TlsFiles(str(certificate), str(key), str(self.certificate))


def openssl(*words: str | Path) -> None:
    """Run a command of openssl(1)."""
    subprocess.run(["openssl", *words], check=True, capture_output=True)
