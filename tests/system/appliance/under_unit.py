#!/usr/bin/env python3
"""Runs a command under the system call filter and the address families of a systemd unit, by libseccomp.

    under_unit.py UNIT COMMAND [ARGUMENT...]
"""

import ctypes
import os
import socket
import subprocess
import sys

ALLOW, EPERM, EAFNOSUPPORT = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 97
NOT_EQUAL = 1


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def expand(names):
    calls = set()
    for name in names:
        if not name.startswith("@"):
            calls.add(name)
            continue
        text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        calls |= expand(line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#"))
    return calls


allowed, families = set(), set()
with open(sys.argv[1], encoding="utf-8") as unit:
    for line in unit:
        key, _, value = line.strip().partition("=")
        if key == "SystemCallFilter":
            if value.startswith("~"):
                allowed -= expand(value[1:].split())
            else:
                allowed |= expand(["@default", *value.split()])
        elif key == "RestrictAddressFamilies":
            families |= {getattr(socket, name) for name in value.split()}
assert allowed and families, "the unit has no filter"

library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
library.seccomp_init.restype = ctypes.c_void_p
library.seccomp_load.argtypes = [ctypes.c_void_p]
library.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint,
                                           ctypes.POINTER(Comparison)]
scope = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(EPERM)))
for call in allowed:
    number = library.seccomp_syscall_resolve_name(call.encode())
    if number < 0 or call == "socket":
        continue  # of other machines
    assert library.seccomp_rule_add_array(scope, ALLOW, number, 0, None) == 0, call
number = library.seccomp_syscall_resolve_name(b"socket")
for family in families:
    equal = Comparison(0, 4, family, 0)
    assert library.seccomp_rule_add_array(scope, ALLOW, number, 1, ctypes.byref(equal)) == 0
assert library.seccomp_load(scope) == 0
os.execvp(sys.argv[2], sys.argv[2:])
