"""Readers and segments of releases against those of this build: compat_test.py READER WRITER"""

import lzma
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
READER, WRITER = (os.path.abspath(path) for path in sys.argv[1:3])
RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "reader.xz").exists())

RECORDS = 8  # that writer.cpp writes
EVENTS = 16


class Row(NamedTuple):
    """A kind of segment."""

    kind: str
    file: str  # that the writer makes,
    name: str  # and what readers are given
    since: str  # the first release that has it
    version_at: int  # where its version stands, 32 bits
    last_line: str  # of what a reader prints


ROWS = [
    Row("ring", "ring", "ring", "0.1.0", 8, f"{RECORDS} records"),
    Row("counters", "books.counters", "books", "0.1.0", 8, "delay: 100 values"),
    Row("events", "market", "market", "0.2.0", 8, f"{EVENTS} events"),
    Row("instruments", "market.instruments", "market", "0.2.0", 8, "2 instruments"),
    Row("states", "market.state", "market", "0.2.0", 8, "2 states"),
]


class Compat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stopbit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kept_reader(self, release):
        reader = self.folder / f"reader-{release}"
        if not reader.exists():
            reader.write_bytes(lzma.decompress((HERE / release / "reader.xz").read_bytes()))
            reader.chmod(0o755)
        return str(reader)

    def readers(self, row):
        """This build's, and those of all releases that know the kind."""
        return [READER] + [self.kept_reader(release) for release in RELEASES if release >= row.since]

    def write(self, where):
        folder = self.folder / where
        folder.mkdir()
        subprocess.run([WRITER, folder], check=True, timeout=60)
        return folder

    def keep(self, release, row):
        folder = self.folder / f"kept-{release}"
        folder.mkdir(exist_ok=True)
        (folder / row.file).write_bytes(lzma.decompress((HERE / release / f"{row.file}.xz").read_bytes()))
        return folder

    def version(self, folder, row):
        return struct.unpack_from("<I", (folder / row.file).read_bytes(), row.version_at)[0]

    def read(self, reader, folder, row):
        return subprocess.run([reader, row.kind, f"{folder}/{row.name}"], capture_output=True, text=True, timeout=60,
                              check=False)

    def check_read(self, done, row):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], row.last_line)

    def check_refused(self, done, version):
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, rf"version {version}\b")

    def test_something_is_kept(self):
        self.assertIn("0.1.0", RELEASES)

    def test_readers_and_segments_of_all_releases_agree_or_say_why_not(self):
        now = self.write("now")
        for row in ROWS:
            versions = {"now": now}
            versions.update((release, self.keep(release, row)) for release in RELEASES if release >= row.since)
            what = self.read(READER, now, row)
            self.check_read(what, row)
            for release in versions:
                reader = READER if release == "now" else self.kept_reader(release)
                for written, folder in versions.items():
                    with self.subTest(kind=row.kind, reader=release, written=written):
                        done = self.read(reader, folder, row)
                        if self.version(folder, row) == self.version(versions[release], row):
                            self.check_read(done, row)
                            self.assertEqual(done.stdout, what.stdout)
                        else:
                            self.check_refused(done, self.version(folder, row))

    def test_a_raised_version_is_refused(self):
        folders = [self.write("raised")]
        for row in ROWS:
            of_row = folders + [self.keep(release, row) for release in RELEASES if release >= row.since]
            for folder in of_row:
                version = self.version(folder, row) + 1
                raised = bytearray((folder / row.file).read_bytes())
                struct.pack_into("<I", raised, row.version_at, version)
                (folder / row.file).write_bytes(raised)
                for reader in self.readers(row):
                    with self.subTest(kind=row.kind, reader=reader, folder=folder.name):
                        self.check_refused(self.read(reader, folder, row), version)

    def test_market_events_are_read_or_refused_by_those_who_have_not_known_them(self):
        """A ring of them has the version of every ring, so its readers see what is in it."""
        folder = self.write("events")
        for release in RELEASES:
            with self.subTest(reader=release):
                done = self.read(self.kept_reader(release), folder, ROWS[0]._replace(name="market"))
                self.assertEqual((done.returncode, done.stdout), (1, ""), "read as something else")
                self.assertRegex(done.stderr, "damaged|cannot be printed")

    def test_states_of_other_events_are_refused(self):
        """The version of the events is a word of its own."""
        (row,) = (row for row in ROWS if row.kind == "states")
        row = row._replace(version_at=12)
        folder = self.write("schema")
        version = self.version(folder, row) + 1
        raised = bytearray((folder / row.file).read_bytes())
        struct.pack_into("<I", raised, row.version_at, version)
        (folder / row.file).write_bytes(raised)
        self.check_refused(self.read(READER, folder, row), version)

    # A near ring: a port at the broker, and a ring that its publisher writes for the reader.

    def read_near(self, reader, path, ring):
        return subprocess.run([reader, "near", path, ring, str(RECORDS)], capture_output=True, text=True, timeout=90,
                              check=False)

    def test_a_reader_of_any_release_gets_a_near_ring_of_this_build_or_says_why_not(self):
        wanted = self.read(READER, self.write("now"), ROWS[0]).stdout
        broker = subprocess.Popen([WRITER, "--broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            path, ring = broker.stdout.readline().split()
            for reader in self.readers(ROWS[0]):
                with self.subTest(reader=reader):
                    done = self.read_near(reader, path, ring)
                    if reader == READER or done.returncode == 0:
                        self.assertEqual((done.returncode, done.stdout), (0, wanted), done.stderr)
                    else:
                        self.assertRegex(done.stderr, r"version \d")
        finally:
            broker.communicate(timeout=60)
        self.assertEqual(broker.returncode, 0)

    def test_a_broker_of_a_later_version_is_refused(self):
        path = str(self.folder / "broker")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(path)
            listening.listen()
            for reader in self.readers(ROWS[0]):
                with self.subTest(reader=reader):
                    process = subprocess.Popen([reader, "near", path, "cme", "1"], stdout=subprocess.PIPE,
                                               stderr=subprocess.PIPE, text=True)
                    with listening.accept()[0] as client:
                        magic, version = struct.unpack_from("<IH", client.recv(4096))
                        client.send(struct.pack("<IH", magic, version + 1).ljust(128, b"\0"))
                        out, errors = process.communicate(timeout=60)
                    self.assertEqual((process.returncode, out), (1, ""), errors)
                    self.assertRegex(errors, f"the broker speaks version {version + 1}, this program (supports )?{version}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
