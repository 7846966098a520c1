"""Addresses of hubs, as `patchbay --hub` takes them.

`tcp://HOST:PORT`, `tls://HOST:PORT` and `unix:///PATH`, each also with `-lines` behind the scheme's name: there a
message is a line, without a header block.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Optional

__all__ = ["DEFAULT_URI", "Address", "parse"]

DEFAULT_URI = "tcp://127.0.0.1:7411"

PATH_BYTES_MAX = 107
_NETWORK = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z.-]{1,253})):([0-9]{1,5})", re.ASCII)
_NAME_END = re.compile(r"(?:.*\.)?[A-Za-z][^.]*", re.ASCII)
_FILE = re.compile(r"(mode=0?[67][0-7]{2}|group=[^&]{1,32})(&(?!\1)(mode=0?[67][0-7]{2}|group=[^&]{1,32}))?", re.ASCII)


@dataclass(frozen=True)
class Address:
    """Where a hub is, and how it is spoken to."""

    uri: str
    secure: bool
    lines: bool
    host: str = ""
    port: int = 0
    path: str = ""  # of a Unix socket; else empty

    def __str__(self) -> str:
        return self.uri


def parse(uri: str) -> Address:
    """Reads a URI. Raises ValueError where the URI is none, or names a transport that this client does not speak."""
    scheme, found, rest = uri.partition("://")
    if scheme in ("ws", "wss", "http", "https"):
        raise ValueError(f"{scheme}:// is not spoken by this client: it takes tcp://, tls:// and unix://")
    transport, hyphen, kind = scheme.partition("-")
    if found and transport in ("tcp", "tls", "unix") and (not hyphen or kind == "lines"):
        lines = kind == "lines"
        address = _unix(uri, rest, lines) if transport == "unix" else _network(uri, rest, transport == "tls", lines)
        if address is not None:
            return address
    # The text is not shown: a token may stand there by mistake.
    raise ValueError("no address of a hub: tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, perhaps with -lines behind the scheme")


def _network(uri: str, rest: str, secure: bool, lines: bool) -> Optional[Address]:
    match = _NETWORK.fullmatch(rest)
    if match is None or int(match[3]) > 65535:
        return None
    host = match[1] or match[2]
    if not _is_host(host, bracketed=match[1] is not None):
        return None
    return Address(uri, secure, lines, host=host, port=int(match[3]))


def _is_host(host: str, bracketed: bool) -> bool:
    """Tells whether a host is an address, or a name whose last label begins with a letter."""
    if not bracketed and _NAME_END.fullmatch(host):
        return True
    try:
        return ipaddress.ip_address(host).version == (6 if bracketed else 4)
    except ValueError:
        return False


def _unix(uri: str, rest: str, lines: bool) -> Optional[Address]:
    """Reads a path. What stands behind `?` tells who listens whose the file is, and means nothing here."""
    path, query, file = rest.partition("?")
    if not path.startswith("/") or path.endswith("/") or "\0" in path or len(path.encode()) > PATH_BYTES_MAX:
        return None
    if query and _FILE.fullmatch(file) is None:
        return None
    return Address(uri, False, lines, path=path)
