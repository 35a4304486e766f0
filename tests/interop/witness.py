"""The witness of tests/support/witness.hpp, for other libraries' clients that hold alone."""
import os
import struct
import time

# Where in its page.
WRITERS, READERS, FRAGILE_COUNT, COUNT, OVERLAPS = 0, 8, 32, 40, 48


class Witness:
    """In plain steps, which only one who is alone survives. Holdfast's own see us as a reader among writers."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR)

    def get(self, offset):
        return struct.unpack("<q", os.pread(self.file, 8, offset))[0]

    def put(self, offset, value):
        os.pwrite(self.file, struct.pack("<q", value), offset)

    def sections(self):
        return self.get(COUNT)

    def visit(self):
        if self.get(WRITERS) or self.get(READERS):
            self.put(OVERLAPS, self.get(OVERLAPS) + 1)
        self.put(READERS, self.get(READERS) + 1)
        seen = self.get(FRAGILE_COUNT)
        time.sleep(0.0005)
        self.put(FRAGILE_COUNT, seen + 1)
        self.put(COUNT, self.get(COUNT) + 1)
        if self.get(WRITERS) or self.get(READERS) != 1:
            self.put(OVERLAPS, self.get(OVERLAPS) + 1)
        self.put(READERS, self.get(READERS) - 1)
