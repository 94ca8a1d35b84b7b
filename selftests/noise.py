#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends random RoCE datagrams to the QPs of a device.

    noise.py SOURCE DESTINATION DEVICE SECONDS SEED

Each has a good ICRC, and in half of them opcode and QP fit so far that the device looks further. Prints "N of M": how many more
datagrams the device has received while M were sent. The same seed sends the same, to whichever QPs there are.
"""

import random
import re
import socket
import struct
import subprocess
import sys
import time
import zlib

PORT = 4791
# Opcodes of reliable connections, of datagrams, and of InfiniBand's connection manager.
RC, UD, CM = list(range(0x00, 0x18)), [0x64, 0x65], list(range(0x10, 0x1B))


def qps(device):
    listed = subprocess.run(["rdma", "resource", "show", "qp", "link", device], capture_output=True, text=True).stdout
    return [int(number) for number in re.findall(r"lqpn (\d+)", listed)]


def received(device):
    with open(f"/sys/class/infiniband/{device}/ports/1/hw_counters/rcvd_pkts") as counter:
        return int(counter.read())


def headers(source, destination, length, identity):
    udp = struct.pack(">HHHH", 49152 + identity % 1000, PORT, 8 + length, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + length, identity, 0x4000, 64, 17, 0,
                     socket.inet_aton(source), socket.inet_aton(destination))
    return ip, udp


def with_icrc(ip, udp, body):
    """The checksum takes what routers change for ones: TOS, TTL, both checksums, the reserved byte before the QP."""
    masked_ip = ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
    masked_body = body[:4] + b"\xff" + body[5:]
    crc = zlib.crc32(b"\xff" * 8 + masked_ip + udp[:6] + b"\xff\xff" + masked_body)
    return ip + udp + body + struct.pack("<I", crc & 0xFFFFFFFF)


def body(rnd, numbers):
    kind = rnd.randrange(4)
    opcode = rnd.randrange(256)
    qp = rnd.choice(numbers) if numbers and rnd.randrange(8) else rnd.randrange(1 << 24)
    payload = rnd.randbytes(rnd.choice([0, 1, 4, 8, 12, 16, 20, 28, 32, 64, 255, 256, 1024, rnd.randrange(4200)]))
    if kind == 0:
        opcode = rnd.choice(RC)
    elif kind == 1:
        # A message of the connection manager, of any kind and with anything in it.
        opcode, qp = rnd.choice(UD), 1
        mad = struct.pack(">BBBBHHQHHI", 1, 7, 2, rnd.choice([3, 3, 3, rnd.randrange(256)]), 0, 0, rnd.getrandbits(64),
                          rnd.choice(CM), 0, 0)
        payload = struct.pack(">II", 0x80010000, 1) + (mad + rnd.randbytes(232))[:rnd.choice([256, 256, 256, rnd.randrange(257)])]
    pads = rnd.randrange(4) if rnd.randrange(4) == 0 else -len(payload) % 4
    flags = rnd.randrange(256) & 0xC0 | pads << 4 | (0 if rnd.randrange(16) else rnd.randrange(16))
    payload += bytes(-len(payload) % 4) if rnd.randrange(8) else b""
    return struct.pack(">BBHII", opcode, flags, 0xFFFF if rnd.randrange(16) else rnd.randrange(1 << 16), qp,
                       rnd.randrange(2) << 31 | rnd.randrange(1 << 24)) + payload


def main():
    source, destination, device = sys.argv[1:4]
    end = time.monotonic() + float(sys.argv[4])
    rnd = random.Random(int(sys.argv[5]))
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    before, sent, numbers = received(device), 0, []
    while time.monotonic() < end:
        if sent % 500 == 0:
            numbers = qps(device)
        data = body(rnd, numbers)
        ip, udp = headers(source, destination, len(data) + 4, sent % 65535 + 1)
        try:
            out.sendto(with_icrc(ip, udp, data), (destination, 0))
        except OSError:
            # Longer than the link takes.
            continue
        sent += 1
    print(f"{received(device) - before} of {sent}")


main()
