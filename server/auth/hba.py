"""PostgreSQL's pg_hba.conf: parses the file and finds the rule that matches a connection.

    # type    database  user      address        method         options
    hostssl   all       all       10.0.0.0/8     scram-sha-256
    host      sluice    ann,+bi   127.0.0.1/32   trust

The first rule that matches a connection decides; a connection that no rule matches is refused. An error names the file
and the line. A file with an error is rejected as a whole, because applying only the valid rules could grant access that
the others deny.

These are not supported and are refused by name: methods that use other services (ldap, pam, gss, radius, ident ...),
host names, include directives, and user name maps. `local` rules are parsed and match nothing, as there are no Unix
sockets.

Source: PostgreSQL 15, 21.1 "The pg_hba.conf File"; hba.c (next_token, parse_hba_line, check_hba).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, Literal, cast

from wire.dataclass import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Kind = Literal["local", "host", "hostssl", "hostnossl", "hostgssenc", "hostnogssenc"]
Method = Literal["trust", "reject", "scram-sha-256", "md5", "password", "cert"]

_KINDS: Final = ("local", "host", "hostssl", "hostnossl", "hostgssenc", "hostnogssenc")
_METHODS: Final = ("trust", "reject", "scram-sha-256", "md5", "password", "cert")
_OTHER_METHODS: Final = ("gss", "sspi", "ident", "peer", "pam", "bsd", "ldap", "radius")
_CLIENT_CERTIFICATES: Final = ("verify-ca", "verify-full")
_WORD: Final = re.compile(r'"(?P<quoted>[^"]*)"|(?P<plain>[^\s",#]+)')


class HbaError(Exception):
    """A mistake in an hba file; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a field. quoted: the word is a name, never a keyword."""

    text: str
    quoted: bool = False

    def is_keyword(self, keyword: str) -> bool:
        return not self.quoted and self.text == keyword


@dataclass(frozen=True, slots=True)
class Rule:
    """One line. networks: None matches every address; "samehost" matches an address of this machine. clientcert: "" if
    the rule requires no certificate.
    """

    line: int
    kind: Kind
    databases: tuple[Word, ...]
    users: tuple[Word, ...]
    network: Network | Literal["samehost"] | None
    method: Method
    clientcert: str = ""

    @property
    def takes_clear(self) -> bool:
        return self.kind in ("host", "hostnossl", "hostnogssenc")

    @property
    def takes_tls(self) -> bool:
        return self.kind in ("host", "hostssl", "hostnogssenc")


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection, as rules match it. host, here: addresses of the client and of this member, as the socket reports
    them. belongs_to: returns whether the user is a member of a role.
    """

    user: str
    database: str
    host: str
    here: str
    encrypted: bool
    belongs_to: Callable[[str], bool] = field(default=lambda _role: False)


def find(rules: Sequence[Rule], connection: Connection) -> Rule | None:
    """Return the first rule that matches."""
    return next((rule for rule in rules if _fits(rule, connection)), None)


def _fits(rule: Rule, c: Connection) -> bool:
    return (
        (rule.takes_tls if c.encrypted else rule.takes_clear)
        and _at(rule.network, c)
        and any(_is_database(word, c) for word in rule.databases)
        and any(_is_user(word, c) for word in rule.users)
    )


def _is_database(word: Word, c: Connection) -> bool:
    if word.is_keyword("all"):
        return True
    if word.is_keyword("sameuser"):
        return c.database == c.user
    if word.is_keyword("samerole") or word.is_keyword("samegroup"):
        return c.belongs_to(c.database)
    return word.text == c.database and not word.is_keyword("replication")


def _is_user(word: Word, c: Connection) -> bool:
    if word.is_keyword("all"):
        return True
    if not word.quoted and word.text.startswith("+"):
        return c.belongs_to(word.text[1:])
    return word.text == c.user


def _at(network: Network | str | None, c: Connection) -> bool:
    if network is None:
        return True
    address = _address(c.host)
    if network == "samehost":
        return address is not None and address == _address(c.here)
    return address is not None and address in cast("Network", network)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address. An IPv4 address that is mapped to IPv6 is returned as IPv4."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def default_rules(trusted: Iterable[Network]) -> tuple[Rule, ...]:
    """Return the rules that apply without a file: clients from a trusted network are trusted, all others need a
    password.
    """
    everything = (Word("all"),)
    trust = (Rule(0, "host", everything, everything, network, "trust") for network in trusted)
    return *trust, Rule(0, "host", everything, everything, None, "scram-sha-256")


def read(path: Path) -> tuple[Rule, ...]:
    """Read the rules of a file. Blocks on the file system. Raises HbaError."""
    try:
        return parse(path.read_text(), str(path))
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise HbaError(f"cannot read {path}: {why}") from None


def parse(text: str, name: str) -> tuple[Rule, ...]:
    """Parse the rules of a text. name: of the file, for errors. Raises HbaError, with a line for each mistake."""
    rules, mistakes = [], []
    for number, line in _lines(text):
        try:
            if fields := list(_fields(line)):
                rules.append(_rule(number, fields))
        except HbaError as error:
            mistakes.append(f"{name}, line {number}: {error}")
    if mistakes:
        raise HbaError("\n".join(mistakes))
    return tuple(rules)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; a backslash at the end continues a line."""
    begun, number = "", 0
    for at, line in enumerate(text.splitlines(), 1):
        number = number or at
        if line.endswith("\\"):
            begun += line[:-1]
            continue
        yield number, begun + line
        begun, number = "", 0
    if begun:
        yield number, begun


def _fields(line: str) -> Iterator[tuple[Word, ...]]:
    """Yield the fields of a line, which are separated by white space. A field is a list of words; a comma may be
    followed by white space.
    """
    at = _after_blanks(line, 0)
    while at < len(line) and line[at] != "#":
        words: list[Word] = []
        while True:
            match = _WORD.match(line, at)
            if match is None:
                raise HbaError(f"unexpected {line[at:].split(maxsplit=1)[0] if line[at:].strip() else 'end of line'}")
            words.append(Word(match["plain"] or match["quoted"], match["plain"] is None))
            at = match.end()
            if line[at : at + 1] != ",":
                break
            at = _after_blanks(line, at + 1)
        yield tuple(words)
        if at < len(line) and not line[at].isspace() and line[at] != "#":
            raise HbaError(f"expected a blank before {line[at:].split(maxsplit=1)[0]}")
        at = _after_blanks(line, at)


def _after_blanks(line: str, at: int) -> int:
    while at < len(line) and line[at].isspace():
        at += 1
    return at


def _rule(number: int, fields: Sequence[tuple[Word, ...]]) -> Rule:
    kind = _one(fields, 0, "connection type")
    if kind.startswith(("include", "@")):
        raise HbaError(f"not supported: {kind}")
    if kind not in _KINDS:
        raise HbaError(f'invalid connection type "{kind}": expected one of {", ".join(_KINDS)}')
    databases = _names(fields, 1, "database")
    users = _names(fields, 2, "role")
    network, at = (None, 3) if kind == "local" else _network(fields)
    method = _method(_one(fields, at, "authentication method"))
    options = dict(_option(word) for words in fields[at + 1 :] for word in words)
    clientcert = _clientcert(options, kind, method)
    return Rule(number, cast("Kind", kind), databases, users, network, method, clientcert)


def _one(fields: Sequence[tuple[Word, ...]], at: int, what: str) -> str:
    if at >= len(fields):
        raise HbaError(f"end-of-line before {what} specification")
    if len(fields[at]) > 1:
        raise HbaError(f"multiple values specified for {what}: expected one")
    return fields[at][0].text


def _names(fields: Sequence[tuple[Word, ...]], at: int, what: str) -> tuple[Word, ...]:
    if at >= len(fields):
        raise HbaError(f"end-of-line before {what} specification")
    for word in fields[at]:
        if not word.quoted and word.text.startswith(("@", "/")):
            raise HbaError(f"not supported: {word.text} in place of a {what}")
    return fields[at]


def _network(fields: Sequence[tuple[Word, ...]]) -> tuple[Network | Literal["samehost"] | None, int]:
    """Return the addresses, and the index of the method's field."""
    text = _one(fields, 3, "IP address")
    if text == "all":
        return None, 4
    if text == "samehost":
        return "samehost", 4
    if text == "samenet":
        raise HbaError("not supported: samenet; name the network, as in 10.0.0.0/8")
    try:
        if "/" in text:
            return ipaddress.ip_network(text, strict=False), 4
        ipaddress.ip_address(text)
    except ValueError as error:
        if re.fullmatch(r"[0-9A-Fa-f:./]+", text) and any(character.isdigit() for character in text):
            raise HbaError(f'invalid IP address "{text}": {error}') from None
        raise HbaError(f'not supported: the host name "{text}"; expected an address, as in 10.0.0.0/8') from None
    mask = _one(fields, 4, "IP mask")
    try:
        return ipaddress.ip_network(f"{text}/{_prefix(mask)}", strict=False), 5
    except ValueError:
        raise HbaError(f'invalid IP mask "{mask}": expected one behind {text}, as in {text}/32') from None


def _prefix(mask: str) -> int:
    """Return the number of leading bits of a network mask that is written as an address. Raises ValueError."""
    address = ipaddress.ip_address(mask)
    bits = f"{int(address):0{address.max_prefixlen}b}"
    if "01" in bits:
        raise ValueError(mask)
    return bits.count("1")


def _method(text: str) -> Method:
    if text in _OTHER_METHODS:
        raise HbaError(f"not supported: the authentication method {text}")
    if text not in _METHODS:
        raise HbaError(f'invalid authentication method "{text}": expected one of {", ".join(_METHODS)}')
    return cast("Method", text)


def _option(word: Word) -> tuple[str, str]:
    name, equals, value = word.text.partition("=")
    if not equals:
        raise HbaError(f'authentication option not in name=value format: "{word.text}"')
    return name, value


def _clientcert(options: Mapping[str, str], kind: str, method: Method) -> str:
    for name, value in options.items():
        if name == "clientname" and value == "CN":
            continue
        if name != "clientcert":
            raise HbaError(f'not supported: the authentication option "{name}={value}"')
    if method == "cert" and kind != "hostssl":
        raise HbaError("cert authentication is only supported on hostssl connections")
    value = options.get("clientcert", "verify-full" if method == "cert" else "")
    if value and kind != "hostssl":
        raise HbaError("clientcert can only be configured for hostssl rows")
    if value and value not in _CLIENT_CERTIFICATES:
        raise HbaError(f'invalid value for clientcert: "{value}": expected {" or ".join(_CLIENT_CERTIFICATES)}')
    if method == "cert" and value == "verify-ca":
        raise HbaError('clientcert only accepts "verify-full" when using "cert" authentication')
    return value
