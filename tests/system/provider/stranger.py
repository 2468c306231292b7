#!/usr/bin/env python3
"""Sends rubbish to a host for as long as it lives: datagrams to a port, and connections to the same port that say
nothing or nonsense. usage: stranger.py HOST PORT"""

import random
import socket
import sys
import time


def main():
    to = (sys.argv[1], int(sys.argv[2]))
    draw = random.Random(7)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connections = []
    while True:
        for _ in range(20):
            # Also what looks like a datagram of the carrier.
            head = b"" if draw.random() < 0.5 else bytes([1, 0]) + draw.randbytes(22)
            try:
                datagrams.sendto(head + draw.randbytes(draw.randrange(0, 1400)), to)
            except OSError:
                pass  # no process listens yet, or any more
        try:
            connection = socket.create_connection(to, timeout=1)
            if draw.random() < 0.5:
                connection.sendall(draw.randbytes(draw.randrange(1, 600)))
            connections = connections[-5:] + [connection]
        except OSError:
            pass
        time.sleep(0.01)


main()
