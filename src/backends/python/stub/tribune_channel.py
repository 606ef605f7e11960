"""The socket and the shared memory between a model's process and the server.

A frame is two little-endian uint32 lengths, a JSON text and a tail of raw bytes. Small tensors travel in the tail;
larger ones lie in shared memory segments that one side fills and the other maps.

Any thread that needs a message may become the reader: it then reads and hands out messages until its own has come.
So a blocking call inside `execute` needs no thread of its own, and an idle process costs no hand-over between threads.
"""

import ctypes
import json
import mmap
import os
import socket
import struct
import threading

import numpy as np

HEADER = struct.Struct("<II")
# Tensors up to this size travel in the frame: one copy through the socket is cheaper than keeping books.
INLINE_LIMIT_BYTES = 16 * 1024
ALIGNMENT_BYTES = 64
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class Lease(np.ndarray):
    """Bytes of a segment that the server lent; gives them back when the last view of them is gone."""

    def __array_finalize__(self, _):
        self.on_release = None

    def __del__(self):
        release = self.on_release
        if release is not None:
            self.on_release = None
            release()


class Segment:
    """A mapped shared memory file."""

    def __init__(self, descriptor, size):
        self.memory = mmap.mmap(descriptor, size)
        self.size = size


class Arena:
    """Room for outgoing tensors: segments cut into power-of-two blocks, with a free list for each size."""

    def __init__(self, announce, first_segment_bytes):
        self._announce = announce
        self._segment_bytes = first_segment_bytes
        self._segments = []
        self._room = 0
        self._next = 0
        self._free = {}
        self._sizes = {}
        self._lock = threading.Lock()

    def allocate(self, size):
        """(segment index, offset, memory) of a block of at least `size` bytes."""
        block = max(4096, 1 << (size - 1).bit_length())
        with self._lock:
            free = self._free.get(block)
            if free:
                index, offset = free.pop()
            else:
                if block > self._room:
                    self._grow(block)
                index, offset = len(self._segments) - 1, self._next
                self._next += block
                self._room -= block
            self._sizes[(index, offset)] = block
            return index, offset, self._segments[index].memory

    def free(self, index, offset):
        with self._lock:
            block = self._sizes.pop((index, offset), None)
            if block is not None:
                self._free.setdefault(block, []).append((index, offset))

    def _grow(self, block):
        size = max(self._segment_bytes, block)
        self._segment_bytes = min(max(size, self._segment_bytes * 2), 1 << 28)
        # An unnamed file: nothing is left behind in /dev/shm however this process ends.
        descriptor = os.memfd_create("tribune-output", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        self._segments.append(Segment(descriptor, size))
        self._announce(len(self._segments) - 1, f"/proc/{os.getpid()}/fd/{descriptor}", size)
        self._room, self._next = size, 0


class Channel:
    """The connection to the server."""

    def __init__(self, path, first_segment_bytes):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._buffer = bytearray(1 << 16)
        self._start = self._end = 0
        self._write_lock = threading.Lock()
        self._deferred = []
        self._state = threading.Condition()
        self._reading = False
        self._segments = {}
        self._released = []
        self.arena = Arena(lambda s, path, size: self.send({"t": "map", "s": s, "path": path, "size": size}), first_segment_bytes)
        self.handlers = {"map": self._map, "unmap": self._unmap, "free": self._freed}

    # ---- sending

    def send(self, message, tail=b""):
        if self._released:
            message["rel"] = self._take_released()
        text = _encode(message).encode("utf-8", "surrogatepass")
        frame = HEADER.pack(len(text), len(tail)) + text
        with self._write_lock:
            if len(tail) > 65536:
                self._socket.sendall(frame)
                self._socket.sendall(tail)
            else:
                self._socket.sendall(frame + tail)
        if self._deferred:
            self._send_deferred()

    def send_later(self, message):
        """Sends from a destructor: those run anywhere, also in the middle of another `send` of the same thread."""
        self._deferred.append(message)
        self._send_deferred()

    def _send_deferred(self):
        # Whoever holds the lock looks at the list again after giving it up, so nothing stays behind.
        while self._deferred and self._write_lock.acquire(blocking=False):
            try:
                text = _encode(self._deferred.pop(0)).encode("utf-8", "surrogatepass")
                self._socket.sendall(HEADER.pack(len(text), 0) + text)
            finally:
                self._write_lock.release()

    def place(self, data, size, tail):
        """Puts bytes (anything with a buffer) where the server can read them: [where, offset, size].

        `where` is −1 for the frame's tail and a segment index otherwise; the server frees the block when it is done.
        """
        if size <= INLINE_LIMIT_BYTES:
            offset = len(tail)
            tail += data
            return [-1, offset, size]
        index, offset, memory = self.arena.allocate(size)
        memory[offset : offset + size] = data
        return [index, offset, size]

    def place_array(self, array, tail):
        """Like `place` for a numpy array in row order, written straight into shared memory where it is large."""
        size = array.nbytes
        if size <= INLINE_LIMIT_BYTES:
            offset = len(tail)
            tail += array.tobytes()
            return [-1, offset, size]
        index, offset, memory = self.arena.allocate(size)
        target = np.ndarray(array.shape, array.dtype, memory, offset)
        np.copyto(target, array)
        return [index, offset, size]

    # ---- receiving

    def wait(self, is_done):
        """Returns when `is_done()` holds, reading and handing out messages meanwhile if nobody else does."""
        with self._state:
            while True:
                if is_done():
                    return
                if not self._reading:
                    self._reading = True
                    break
                self._state.wait()
        try:
            while not is_done():
                self._dispatch(*self._read())
        finally:
            self._stop_reading()

    def poll(self):
        """Hands out what has already arrived; never blocks."""
        with self._state:
            if self._reading:
                return
            self._reading = True
        try:
            while self._has_input():
                self._dispatch(*self._read())
        finally:
            self._stop_reading()

    def lease(self, where, offset, size, key):
        """A view of a server segment that tells the server when nobody uses it any more."""
        view = np.ndarray.__new__(Lease, (size,), np.uint8, self._segments[where].memory, offset)
        view.on_release = lambda: self._released.append(key)
        return view

    def flush_released(self):
        """Tells the server of returned memory when no other message is due."""
        if self._released:
            self.send({"t": "rel"})

    def _take_released(self):
        released, self._released = self._released, []
        return released

    def _stop_reading(self):
        with self._state:
            self._reading = False
            self._state.notify_all()

    def _dispatch(self, message, tail):
        freed = message.get("free")
        if freed:
            for index, offset in freed:
                self.arena.free(index, offset)
        self.handlers[message["t"]](message, tail)
        with self._state:
            self._state.notify_all()

    def _has_input(self):
        if self._end - self._start >= HEADER.size:
            return True
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def _read(self):
        self._fill(HEADER.size)
        text_size, tail_size = HEADER.unpack_from(self._buffer, self._start)
        self._start += HEADER.size
        text = self._take(text_size)
        tail = self._take(tail_size) if tail_size else b""
        return _decode(text.decode("utf-8", "surrogatepass")), tail

    def _take(self, size):
        """The next `size` bytes as a bytearray of their own."""
        have = self._end - self._start
        if size <= have:
            taken = self._buffer[self._start : self._start + size]
            self._start += size
            return taken
        taken = bytearray(size)
        taken[:have] = self._buffer[self._start : self._end]
        self._start = self._end = 0
        rest = memoryview(taken)[have:]
        while rest:
            rest = rest[self._receive(rest) :]
        return taken

    def _fill(self, size):
        while self._end - self._start < size:
            if self._start == self._end:
                self._start = self._end = 0
            elif self._start + size > len(self._buffer):
                pending = self._buffer[self._start : self._end]
                self._buffer[: len(pending)] = pending
                self._start, self._end = 0, len(pending)
            self._end += self._receive(memoryview(self._buffer)[self._end :])

    def _receive(self, room):
        count = self._socket.recv_into(room)
        if count == 0:
            # The server is gone. Nothing can be answered any more, and finalize has nobody to report to.
            os._exit(0)
        return count

    def _map(self, message, _):
        descriptor = os.open(message["path"], os.O_RDWR)
        try:
            self._segments[message["s"]] = Segment(descriptor, message["size"])
        finally:
            os.close(descriptor)
        self.send({"t": "mapped", "s": message["s"]})

    def _unmap(self, message, _):
        # The mapping itself goes when the last view of it does.
        self._segments.pop(message["s"], None)

    def _freed(self, _message, _tail):
        """A frame that only carries `free`."""


def die_with_parent():
    """Asks the kernel to end this process when the server's process ends."""
    pr_set_pdeathsig, sigkill = 1, 9
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, sigkill, 0, 0, 0)
