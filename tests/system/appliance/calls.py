#!/usr/bin/env python3
"""System calls of the threads of a confined appliance: those that each may make, and those that strace saw.

    calls.py APPLIANCE_TEST TRACE PID      the trace of `strace -f -Y` of the appliance PID

Prints a table. Fails if a thread has no list of its own, or if a call was refused that it should have had.
"""
import collections
import re
import subprocess
import sys

# wait4: the last act of an appliance is to look whether its opener has ended; the kernel's refusal is as good.
REFUSED_IN_ANY_CASE = {"wait4"}
# The lists that agree with the names that threads give themselves.
LISTS = {"md": "agent with sockets", "recorder": "recorder", "log": "log", "readers": "readers"}


def lists_of(test):
    """The calls of each kind of thread, as the unit test prints them."""
    printed = subprocess.run([test, "--gtest_filter=ThreadFilters.have_these_numbers_of_calls"],
                             capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([a-z ]+): ([a-z_0-9 ]+)$", printed, re.MULTILINE)
    return {kind: set(calls.split()) for kind, calls in found}


def kind_of(thread, main, name):
    return "housekeeper" if thread == main else LISTS.get(name)


def read_trace(path, main):
    """Calls seen and refused after each thread has got its own filter, by kind; and the names of threads without one."""
    seen, refused = collections.defaultdict(set), collections.defaultdict(set)
    filtered, names = set(), {}
    for line in open(path, errors="replace"):
        found = re.match(r"(\d+)<([^>]*)>\s+(?:<\.\.\. )?(\w+)(.*)", line)
        if not found:
            continue
        thread, name, call, rest = found.groups()
        names[thread] = name
        if call == "prctl" and "PR_SET_SECCOMP" in rest:
            filtered.add(thread)
        elif thread in filtered:
            kind = kind_of(thread, main, name)
            if call != "prctl":  # it returns after the filter is there
                seen[kind].add(call)
            if "= -1 EPERM" in rest and call not in REFUSED_IN_ANY_CASE:
                refused[kind].add(call)
    without = sorted(name for thread, name in names.items()
                     if thread not in filtered and not name.startswith(("stopbit-", "strace")))
    return seen, refused, without


def main(test, trace, appliance):
    lists = lists_of(test)
    seen, refused, without = read_trace(trace, appliance)
    print(f"{'thread':<20} {'may':>4} {'made':>5}  calls made")
    for kind in ("agent with sockets", "recorder", "log", "readers", "housekeeper"):
        assert kind in seen, f"the thread '{kind}' was not seen"
        print(f"{kind:<20} {len(lists[kind]):>4} {len(seen[kind]):>5}  {' '.join(sorted(seen[kind]))}")
    for kind, calls in refused.items():
        sys.exit(f"{kind}: the kernel refused {' '.join(sorted(calls))}")
    if without:
        sys.exit(f"threads without a filter of their own: {' '.join(without)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
