"""A filter of system calls for the sandbox: what isolates only inside the kernel's own doors is
shut at the door.
"""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_NOT_PERMITTED = 0x00050000 | 1
_NO_SUCH_CALL = 0x00050000 | 38
_NO_SUCH_FAMILY = 0x00050000 | 97
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NEW_NAMESPACES = 0x00020000 | 0x7E000000
# AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, but not AF_VSOCK, which reaches a machine's host.
FAMILIES = (1, 2, 10, 16)
"""The kinds of sockets that stay inside of a network namespace."""


@dataclass(frozen=True, slots=True)
class _Machine:
    """Numbers of system calls; `refused` are unshare, setns, add_key, request_key, keyctl, bpf,
    perf_event_open,
    userfaultfd, io_uring_setup, then those whose memory no process shows as its own: shmget,
    semget, msgget, memfd_create (linux: asm/unistd_64.h, asm-generic/unistd.h).
    """

    audit: int
    clone: int
    socket: int
    refused: tuple[int, ...]


_CLONE3 = 435
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E, 56, 41, (272, 308, 248, 249, 250, 321, 298, 323, 425, 29, 64, 68, 319)
    ),
    "aarch64": _Machine(
        0xC00000B7, 220, 198, (97, 268, 217, 218, 219, 280, 241, 282, 425, 194, 190, 186, 279)
    ),
}


def filter_program(families: Sequence[int] = FAMILIES) -> bytes | None:
    """The filter as classic BPF, which bubblewrap's --seccomp reads; None on machines whose calls
    we do not know.

    `families` are the kinds of sockets that may be made.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return None
    program = [_load(4), _skip_unless_equal(machine.audit, 1), _skip(1), _answer(_KILL), _load(0)]
    program += [
        _jump(0x35, 0x40000000, 0, 1),
        _answer(_NO_SUCH_CALL),
    ]  # x32 calls have numbers of their own
    for call in machine.refused:
        program += [_skip_unless_equal(call, 1), _answer(_NOT_PERMITTED)]
    # The C library falls back to clone, whose flags a filter can see.
    program += [_skip_unless_equal(_CLONE3, 1), _answer(_NO_SUCH_CALL)]
    program += [_skip_unless_equal(machine.clone, 4), _load(16), _jump(0x45, _NEW_NAMESPACES, 0, 1)]
    program += [_answer(_NOT_PERMITTED), _answer(_ALLOW)]
    program += [_skip_unless_equal(machine.socket, 2 + 2 * len(families)), _load(16)]
    for family in families:
        program += [_skip_unless_equal(family, 1), _answer(_ALLOW)]
    return b"".join([*program, _answer(_NO_SUCH_FAMILY), _answer(_ALLOW)])


def open_filter(families: Sequence[int] = FAMILIES) -> int | None:
    """A descriptor from which the filter can be read; the caller closes it."""
    program = filter_program(families)
    if program is None:
        return None
    descriptor = os.memfd_create("agentkit-seccomp")
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _load(offset: int) -> bytes:
    """Load a word of struct seccomp_data: the call's number at 0, the architecture at 4, the first
    argument at 16.
    """
    return struct.pack("=HBBI", 0x20, 0, 0, offset)


def _jump(operation: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)


def _skip_unless_equal(value: int, count: int) -> bytes:
    return _jump(0x15, value, 0, count)


def _skip(count: int) -> bytes:
    return struct.pack("=HBBI", 0x05, 0, 0, count)


def _answer(verdict: int) -> bytes:
    return struct.pack("=HBBI", 0x06, 0, 0, verdict)
