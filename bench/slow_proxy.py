#!/usr/bin/env python3
"""A TCP proxy on the loopback that passes everything on late, both ways.

    bench/slow_proxy.py MILLISECONDS PORT...

Prints the ports that stand for those, in their order, on one line; ends with its input. What comes within a millisecond
goes on together, so that it takes little of the processor that it shares with what is measured.
"""

import asyncio
import collections
import sys

TICK_S = 0.001


class Late(asyncio.Protocol):
    """One side of a connection. What it receives goes to the other side, later."""

    def __init__(self, loop, delay_s):
        self._loop, self._delay_s = loop, delay_s
        self.other = None
        self._transport = None
        self._pieces = collections.deque()  # when each is due, and its bytes; none at the end
        self._timed = False

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, piece):
        self._put(piece)

    def connection_lost(self, problem):
        self._put(None)

    def _put(self, piece):
        self._pieces.append((self._loop.time() + self._delay_s, piece))
        if not self._timed:
            self._timed = True
            self._loop.call_at(self._pieces[0][0], self._pass_on)

    def _pass_on(self):
        to = self.other and self.other._transport  # none while it connects
        due = self._loop.time() + TICK_S / 2
        ready = []
        while to and self._pieces and self._pieces[0][0] <= due:
            ready.append(self._pieces.popleft()[1])
        if ready and not to.is_closing():
            to.write(b"".join(piece for piece in ready if piece is not None))
            if None in ready:
                to.close()
        self._timed = bool(self._pieces)
        if self._timed:
            self._loop.call_at(max(self._pieces[0][0], self._loop.time() + TICK_S), self._pass_on)


class Entrance(Late):
    """The side of the client: it connects to the server."""

    def __init__(self, loop, delay_s, port):
        super().__init__(loop, delay_s)
        self._port = port

    def connection_made(self, transport):
        super().connection_made(transport)
        self._loop.create_task(self._connect())

    async def _connect(self):
        try:
            _, self.other = await self._loop.create_connection(lambda: Late(self._loop, self._delay_s), "127.0.0.1",
                                                               self._port)
        except OSError:
            self._transport.close()
        else:
            self.other.other = self


async def main(delay_s, ports):
    loop = asyncio.get_running_loop()
    doors = [await loop.create_server(lambda port=port: Entrance(loop, delay_s, port), "127.0.0.1", 0) for port in ports]
    print(*(door.sockets[0].getsockname()[1] for door in doors), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    asyncio.run(main(float(sys.argv[1]) / 1e3, [int(each) for each in sys.argv[2:]]))
