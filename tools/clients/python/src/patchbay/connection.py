"""One connection: bytes of a socket to messages, and messages to bytes.

What is sent in one turn of the event loop goes out in one write, but answers in one for every eight. The client never
stops reading.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from typing import Any, Callable, Coroutine, Dict, List, Optional, Set, Tuple, Union, cast

from .errors import TOO_LARGE, ConnectionLost, HubError
from .uri import Address
from .wire import Framed, Lines, Wire, WireError

__all__ = ["Connection", "dial"]

WAITING_BYTES_MAX = 1024 * 1024  # less than that may wait for the socket when `drained` returns
READ_BYTES = 256 * 1024  # are read at once
WRITE_BYTES = 64 * 1024  # as much is written at once, and not at the turn's end
WRITE_MESSAGES = 8  # so many answers, too: the hub reads them while handlers make the next ones
UNREAD_BYTES_MAX = 16 * 1024 * 1024  # the client ends the connection of a hub that leaves more refusals unread
DIAL_SECONDS = 10.0
CLOSE_SECONDS = 1.0
KEEPALIVE_SECONDS = 10

Dialled = Tuple[asyncio.BaseTransport, "Connection"]
Receive = Callable[["Connection", bytes, bytes], None]


class Connection(asyncio.BufferedProtocol):
    """A connection that stands, until it is lost. It is not opened again.

    `receive` gets each message: header lines and body. `work` is called when that is done for all that came in one read.
    `lost` is called once, at the end.
    """

    def __init__(self, wire: Wire, receive: Receive, work: Callable[[], None], lost: Callable[["Connection"], None]) -> None:
        self.wire = wire
        self.is_lost = False
        self.fault: Optional[str] = None  # why the client ended the connection
        self.owed: Dict[Union[int, str, None], object] = {}  # requests that came and are not answered, by their ids
        self.body_bytes_max = 0  # that the hub takes, as it has told; 0: it has not
        self._receive = receive
        self._work = work
        self._tell_lost = lost
        self._loop = asyncio.get_running_loop()
        self._transport: Optional[asyncio.Transport] = None
        self._in = memoryview(bytearray(READ_BYTES))  # a new buffer for each read costs as much as a short message
        self._out: List[bytes] = []
        self._out_bytes = 0
        self._will_flush = False
        self.is_writable = True  # less than WAITING_BYTES_MAX wait for the socket
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        limit = WAITING_BYTES_MAX - WRITE_BYTES - 1
        self._transport.set_write_buffer_limits(high=limit, low=limit)

    def get_buffer(self, sizehint: int) -> memoryview:  # TLS writes into slices of a view alone
        return self._in

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._in[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Takes bytes that came."""
        fault = None
        try:
            messages = self.wire.feed(data)
        except WireError as error:
            messages, fault = error.messages, str(error)
        for fields, body in messages:
            if self.is_lost:
                break
            self._receive(self, fields, body)
        if fault is not None:
            self.fail(fault)
        self._work()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._lose()
        if self._transport is not None:
            self._transport.close()  # of TLS, which Python 3.9 takes for open until then
        self._ended.set_result(None)

    def pause_writing(self) -> None:
        self.is_writable = False
        self._writable.clear()

    def resume_writing(self) -> None:
        self.is_writable = True
        self._writable.set()

    def check(self, body: bytes) -> None:
        """Raises HubError -32055 for a body that the hub does not take: it would end the connection."""
        if 0 < self.body_bytes_max < len(body):
            raise HubError(TOO_LARGE, "frame too large", {"limit": self.body_bytes_max})

    def send(self, body: bytes, fields: bytes = b"") -> None:
        """Sends a message, at the end of this turn of the event loop. Does nothing once the connection is lost."""
        self.put(body, fields)
        self.flush_later()

    def put(self, body: bytes, fields: bytes = b"") -> None:
        """Sends a message once the caller says `flush` or `flush_later`."""
        if self.is_lost:
            return
        frame = self.wire.frame(body, fields)
        self._out.append(frame)
        self._out_bytes += len(frame)
        if self._out_bytes >= WRITE_BYTES:
            self.flush()

    def refuse(self, body: bytes) -> None:
        """Sends an answer that no handler waits for. A hub that reads none of them loses the connection."""
        if self._transport is not None and self._transport.get_write_buffer_size() > UNREAD_BYTES_MAX:
            self.fail("the hub does not read")
        self.send(body)

    def flush_later(self) -> None:
        """Has what was sent handed to the socket at the end of this turn."""
        if self._out and not self._will_flush:
            self._will_flush = True
            self._loop.call_soon(self._flush_at_end)

    def flush_many(self) -> None:
        """Hands what was sent to the socket where that is many messages; else at the end of this turn."""
        if len(self._out) >= WRITE_MESSAGES:
            self.flush()
        else:
            self.flush_later()

    def _flush_at_end(self) -> None:
        self._will_flush = False
        self.flush()

    def flush(self) -> None:
        """Hands what was sent to the socket now."""
        if self._out and self._transport is not None:
            data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
            self._out.clear()
            self._out_bytes = 0
            if not self._transport.is_closing():  # else `connection_lost` is due
                self._transport.write(data)

    async def drained(self) -> None:
        """Waits until less than 1 MiB waits for the socket. Raises ConnectionLost."""
        await self._writable.wait()
        if self.is_lost:
            raise self.loss()

    def fail(self, fault: str) -> None:
        """Ends the connection at once, with a reason."""
        self.fault = self.fault or fault
        self._lose()
        if self._transport is not None:
            self._transport.abort()

    def loss(self) -> ConnectionLost:
        """The error of a call whose connection this was."""
        return ConnectionLost(f"the connection to the hub is lost: {self.fault}") if self.fault else ConnectionLost()

    async def close(self) -> None:
        """Sends what waits, for up to 1 s, and ends the connection. Returns once the socket is closed."""
        if self._transport is None:
            return
        self.flush()
        self._lose()
        self._transport.close()
        try:
            await asyncio.wait({self._ended}, timeout=CLOSE_SECONDS)
        finally:
            if not self._ended.done():
                self._transport.abort()
        await asyncio.wait({self._ended})

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._out.clear()
            self.resume_writing()
            self._tell_lost(self)


async def dial(
    address: Address,
    tls: Optional[ssl.SSLContext],
    max_frame: int,
    receive: Receive,
    work: Callable[[], None],
    lost: Callable[[Connection], None],
) -> Connection:
    """Connects to a hub. Raises OSError, which is a TimeoutError after 10 s."""
    loop = asyncio.get_running_loop()

    def protocol() -> Connection:
        return Connection(Lines(max_frame) if address.lines else Framed(max_frame), receive, work, lost)

    if address.path:
        try:
            return (await _within(loop.create_unix_connection(protocol, address.path)))[1]
        except OSError as error:
            error.filename = error.filename or address.path
            raise
    transport, connection = await _dial_host(protocol, address, tls)
    if transport.get_extra_info("sockname") == transport.get_extra_info("peername"):
        await connection.close()  # where nobody listens, a port of this machine may be given to the one who dials it
        raise ConnectionRefusedError(errno.ECONNREFUSED, "nobody listens there")
    _probe(transport.get_extra_info("socket"))
    return connection


async def _dial_host(protocol: Callable[[], Connection], address: Address, tls: Optional[ssl.SSLContext]) -> Dialled:
    """Dials a host. This machine's own name is not looked up, since that takes a thread, which stays."""
    *others, last = ("127.0.0.1", "::1") if address.host == "localhost" else (address.host,)
    loop, server_name = asyncio.get_running_loop(), address.host if tls is not None else None
    for host in others:
        try:
            return await _within(loop.create_connection(protocol, host, address.port, ssl=tls, server_hostname=server_name))
        except OSError:
            pass
    return await _within(loop.create_connection(protocol, last, address.port, ssl=tls, server_hostname=server_name))


async def _within(dialling: Coroutine[Any, Any, Dialled]) -> Dialled:
    """Waits for a connection. Unlike asyncio.wait_for this function never misses that its caller was cancelled.

    A connection that stands only when its caller has given up is ended.
    """
    task = asyncio.ensure_future(dialling)
    done: Set[asyncio.Task[Dialled]] = set()
    try:
        done, _ = await asyncio.wait({task}, timeout=DIAL_SECONDS)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not done and not task.cancelled() and task.exception() is None:
            task.result()[1].fail("nobody waits for the connection")
    if not done:
        raise TimeoutError(errno.ETIMEDOUT, "the hub does not answer")
    return task.result()


def _probe(sock: socket.socket) -> None:
    """Has the kernel probe the connection, so that a hub whose machine has gone is missed."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", KEEPALIVE_SECONDS), ("TCP_KEEPINTVL", KEEPALIVE_SECONDS), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
