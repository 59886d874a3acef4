"""One agent in one way: `suite.py AGENT MODE`, in a network namespace of its own."""
import fcntl
import importlib
import socket
import struct
import sys
import time
import traceback

from kit import World
from tour import Tour


def loopback():
    """Brings the one interface of this namespace up."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14s", b"lo", 0x41, b""))


def main():
    loopback()
    name, mode = sys.argv[1:3]
    launch = importlib.import_module(f"launch.{name}").Launch()
    begun = time.monotonic()
    try:
        with World(f"{name}-{mode}", launch) as world:
            Tour(world, mode).run()
            for what, state, attention, source, took in world.moments:
                print(f"MOMENT {what} | {state} | {attention} | {source} | {took:.2f}")
            for late in world.late:
                print(f"LATE {late}")
            print(f"{len(world.moments)} moments, {len(world.late)} late, {time.monotonic() - begun:.0f} s")
            if world.late:
                raise AssertionError(f"right, but late: {world.late}")
    except Exception:  # noqa: BLE001
        print(f"FAILED {name} {mode} ({time.monotonic() - begun:.1f} s)", flush=True)
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        sys.exit(1)


main()
