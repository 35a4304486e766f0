#!/usr/bin/env python3
"""Tests of bench/slow_line.

    tests/scripts/slow_line.py PROGRAM
"""

import contextlib
import random
import socket
import subprocess
import sys
import threading
import time
import unittest

DELAY_S = 0.05
LIMIT_S = 30  # of what takes far less


def receive(connection, length):
    return connection.makefile("rb").read(length)


def receive_all(connection):
    return b"".join(iter(lambda: connection.recv(65536), b""))


def echo(connection):
    """What comes, as it comes, and then the end."""
    with connection:
        while piece := connection.recv(65536):
            connection.sendall(piece)


@contextlib.contextmanager
def echoing_server():
    """Its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def line_to(*ports):
    """The process, and the ports that lead to those."""
    process = subprocess.Popen([sys.argv[1], str(round(DELAY_S * 1e6)), *map(str, ports)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        yield process, [int(port) for port in process.stdout.readline().split()]
    finally:
        process.kill()
        process.wait()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)


class SlowLine(unittest.TestCase):
    def test_bytes_come_back_no_sooner_than_twice_the_delay(self):
        with echoing_server() as port, line_to(port) as (_, (far,)), connect(far) as client:
            for _ in range(3):
                sent = time.monotonic()
                client.sendall(b"PING")
                self.assertEqual(receive(client, 4), b"PING")
                self.assertGreater(time.monotonic() - sent, 1.9 * DELAY_S)  # of a clock that is being set

    def test_what_is_under_way_is_no_hindrance_to_what_follows(self):
        pieces = 40  # one after another they would take four seconds; the machine is busy, so only their order counts
        with echoing_server() as port, line_to(port) as (_, (far,)), connect(far) as client:
            for n in range(pieces):
                client.sendall(b"%4d" % n)
            self.assertEqual(receive(client, 4 * pieces), b"".join(b"%4d" % n for n in range(pieces)))

    def test_many_bytes_of_many_connections_keep_their_order_and_the_end_comes_last(self):
        with echoing_server() as port, line_to(port, port) as (_, far), contextlib.ExitStack() as opened:
            clients = [opened.enter_context(connect(far[n % 2])) for n in range(20)]
            texts = [random.Random(n).randbytes(1_000_000) for n in range(len(clients))]

            def speak(client, text):
                client.sendall(text)
                client.shutdown(socket.SHUT_WR)
            for each in zip(clients, texts):
                threading.Thread(target=speak, args=each, daemon=True).start()
            for client, text in zip(clients, texts):
                self.assertEqual(receive_all(client), text)

    def test_a_server_that_refuses_ends_the_connection(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            with line_to(nobody.getsockname()[1]) as (_, (far,)), connect(far) as client:
                self.assertEqual(client.recv(1), b"")

    def test_it_ends_with_its_input(self):
        with echoing_server() as port, line_to(port) as (process, (far,)), connect(far) as client:
            process.stdin.close()
            self.assertEqual(process.wait(LIMIT_S), 0)
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(client.recv(1), b"")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
