#!/usr/bin/env python3
"""refuse.py ERRNO PROGRAM [ARGUMENT]...: runs a program whose flock() fails with ERRNO, as on a file system without
locks. The kernel refuses it (seccomp), so the program runs at its full speed, and so do the programs it starts."""

import ctypes
import errno
import os
import platform
import struct
import sys

# Audit name and number of flock() of each machine that is known.
MACHINES = {"x86_64": (0xC000003E, 73), "aarch64": (0xC00000B7, 32)}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000


def main():
    number, program = getattr(errno, sys.argv[1]), sys.argv[2:]
    if platform.machine() not in MACHINES or sys.platform != "linux":
        sys.exit(77)
    machine, flock = MACHINES[platform.machine()]
    steps = [
        (LOAD, 0, 0, 4),  # the machine
        (JUMP_EQUAL, 0, 3, machine),
        (LOAD, 0, 0, 0),  # the call's number
        (JUMP_EQUAL, 0, 1, flock),
        (RETURN, 0, 0, FAIL | number),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0:
        sys.exit(77)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(FILTER), filter_, zero, zero) != 0:
        sys.exit(77)
    os.execvp(program[0], program)


main()
