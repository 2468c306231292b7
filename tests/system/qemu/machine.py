"""A machine without a disk: QEMU, a kernel, and a root file system in memory made of files of this machine."""

import argparse
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["virtio_pci", "virtio_console", "vfio_iommu_type1", "vfio-pci"]
DRIVERS = ["bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_virtio", "net_vmxnet3"]
BOOT_SECONDS = 240


TOOLS = ["qemu-system-x86_64", "busybox", "cpio", "depmod", "modprobe", "strip", "ldd"]
SKIPPED = 77


class Missing(Exception):
    """Something that this machine does not have."""


class Failed(Exception):
    """The guest did not do what it was told."""


class Broken(Exception):
    """A promise that was not kept."""


def promise(kept, *what):
    if not kept:
        raise Broken(" ".join(str(part) for part in what))


def find_kernel(folder):
    """Image and release of the kernel in an unpacked package."""
    images = glob.glob(f"{folder}/boot/vmlinuz-*")
    if not images:
        raise Missing(f"no kernel in {folder} (./dev nightly drivers gets it)")
    return images[0], os.path.basename(images[0]).removeprefix("vmlinuz-")


def modules_of(folder, release):
    """Files of the modules, each behind those that it needs."""
    subprocess.run(["depmod", "-b", folder, release], check=True)
    files = []
    for module in MODULES:
        shown = subprocess.run(["modprobe", "-d", folder, "-S", release, "--show-depends", module], check=True,
                               capture_output=True, text=True).stdout
        files += [line.split()[1] for line in shown.splitlines() if line.startswith("insmod")]
    return list(dict.fromkeys(files))


def libraries_of(program):
    """Shared libraries that a file is linked with, and the loader."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"(\S+) => not found", listed)
    if missing:
        raise Missing(f"{program} needs {', '.join(missing)}")
    return re.findall(r"(/\S+) \(0x", listed)


def make_root(to, kernel, programs, files, drivers=()):
    """A cpio archive `to`: init, busybox, programs, drivers of DPDK, what they are linked with, modules, `files`."""
    if subprocess.run(["ldd", shutil.which("busybox")], capture_output=True, check=False).returncode == 0:
        raise Missing("busybox is not the static one (busybox-static)")
    root = to + ".d"
    os.makedirs(f"{root}/bin")
    shutil.copy(f"{HERE}/guest_init", f"{root}/init")
    shutil.copy(shutil.which("busybox"), f"{root}/bin/busybox")
    linked = set()
    for program in programs:
        subprocess.run(["strip", "-o", f"{root}/bin/{os.path.basename(program)}", program], check=True)
        linked.update(libraries_of(program))
    for name in drivers:
        found = glob.glob(f"/usr/lib/*/dpdk/pmds-*/librte_{name}.so.*.*")
        if not found:
            raise Missing(f"DPDK's driver {name}")
        linked.update([found[0], *libraries_of(found[0])])
    for path in linked:
        # Names of one file stay names of one file: DPDK's drivers must not be loaded twice.
        real = os.path.realpath(path)
        for name in (path, real):
            os.makedirs(root + os.path.dirname(name), exist_ok=True)
        if not os.path.exists(root + real):
            shutil.copy(real, root + real)
        if path != real:
            os.symlink(real, root + path)
    _, release = find_kernel(kernel)
    os.makedirs(f"{root}/modules")
    for number, path in enumerate(modules_of(kernel, release)):
        shutil.copy(path, f"{root}/modules/{number:02}-{os.path.basename(path)}")
    shutil.copytree(files, f"{root}/feed")
    names = subprocess.run(["find", ".", "-print0"], cwd=root, check=True, capture_output=True).stdout
    with open(to, "wb") as archive:
        subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=archive, check=True)
    shutil.rmtree(root)


class Machine:
    """A running guest. Commands go over a virtual serial port, what the kernel says into a file."""

    def __init__(self, folder, kernel, root, arguments, descriptors=()):
        self.log = open(f"{folder}/session.log", "w", encoding="utf-8")
        image, _ = find_kernel(kernel)
        door = socket.socket(socket.AF_UNIX)
        door.bind(f"{folder}/shell")
        door.listen(1)
        command = [
            "qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "1", "-icount", "shift=4", "-m", "1024",
            "-nodefaults", "-display", "none", "-no-reboot", "-kernel", image, "-initrd", root,
            "-append", "console=ttyS0 loglevel=6 panic=-1 mitigations=off audit=0 intel_iommu=on default_hugepagesz=2M hugepages=160",
            "-device", "intel-iommu,caching-mode=on,intremap=on,aw-bits=48",
            "-serial", f"file:{folder}/console.log",
            "-chardev", f"socket,id=shell,path={folder}/shell",
            "-device", "virtio-serial-pci,addr=1e.0", "-device", "virtserialport,chardev=shell,name=shell", *arguments]
        self.log.write(" ".join(command) + "\n")
        self.errors = open(f"{folder}/qemu.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors,
                                        pass_fds=descriptors)
        door.settimeout(30)
        try:
            self.shell, _ = door.accept()
        except TimeoutError:
            self.kill()
            raise Failed(f"QEMU does not start, see {folder}/qemu.log") from None
        finally:
            door.close()
        self.received = b""
        self.commands = 0
        self.boot_seconds = self._wait_for_shell()

    def _wait_for_shell(self):
        began = time.monotonic()
        try:
            self._read_until(b"@@ready\n", BOOT_SECONDS)
        except Failed as problem:
            self.kill()
            raise Failed(f"the guest does not boot: {problem}; see console.log and qemu.log") from None
        return time.monotonic() - began

    def _read_until(self, mark, seconds):
        end = time.monotonic() + seconds
        while mark not in self.received:
            left = end - time.monotonic()
            if left <= 0:
                raise Failed(f"no {mark.decode().strip()} within {seconds} s")
            self.shell.settimeout(left)
            try:
                piece = self.shell.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                piece = b""
            if not piece:
                raise Failed("the guest has ended")
            self.received += piece
        text, _, self.received = self.received.partition(mark)
        return text

    def ask(self, command, seconds=60):
        """Status and output of a command, stdout and stderr."""
        self.commands += 1
        mark = f"@@{self.commands} "
        self.shell.sendall(f"({command}) </dev/null; status=$?; echo; echo '{mark}'$status\n".encode())
        said = self._read_until(mark.encode(), seconds)
        status = int(self._read_until(b"\n", 10))
        text = said.decode(errors="replace").removesuffix("\n")
        self.log.write(f"# {command}\n{text if len(text) < 20_000 else f'({len(text)} characters)'}\n({status})\n")
        self.log.flush()
        return status, text

    def run(self, command, seconds=60):
        """Output of a command that has to succeed."""
        status, text = self.ask(command, seconds)
        if status != 0:
            raise Failed(f"'{command}' has ended with {status}: {text[-2000:]}")
        return text

    def bind(self, address, driver="vfio-pci"):
        """Gives a PCI function to a driver."""
        device = f"/sys/bus/pci/devices/{address}"
        self.run(f"[ ! -e {device}/driver ] || echo {address} >{device}/driver/unbind; "
                 f"echo {driver} >{device}/driver_override && echo {address} >/sys/bus/pci/drivers_probe && "
                 f"[ -e /sys/bus/pci/drivers/{driver}/{address} ]")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def main(description, make_test):
    """Runs `make_test(arguments, folder)`, whose guest may be None, and prints what it has seen. The exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("bin", help="folder of stopbit")
    parser.add_argument("kernel", help="folder of an unpacked kernel package")
    parser.add_argument("--keep", help="logs stay in this folder")
    arguments = parser.parse_args()
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}", file=sys.stderr)
        return SKIPPED
    folder = tempfile.mkdtemp(prefix="stopbit-qemu-")
    test = make_test(arguments, folder)
    began = time.monotonic()
    status = 0
    try:
        test.run()
    except Missing as problem:
        print(f"skipped: {problem}", file=sys.stderr)
        return SKIPPED
    except (Broken, Failed) as problem:
        test.seen["problem"] = str(problem)
        status = 1
    finally:
        if test.guest is not None:
            try:
                print(test.guest.ask("[ ! -e /tmp/run.log ] || cat /tmp/run.log")[1], file=sys.stderr)
            except Failed:
                pass  # it has ended, or hangs
            test.guest.kill()
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
            for name in ("console.log", "session.log", "qemu.log"):
                if os.path.exists(f"{folder}/{name}"):
                    shutil.copy(f"{folder}/{name}", arguments.keep)
        shutil.rmtree(folder)
    test.seen |= {"right": status == 0, "seconds": round(time.monotonic() - began)}
    print(json.dumps(test.seen))
    return status
