import { dlopen, type Pointer, read } from "bun:ffi";
import { NativeSlab } from "./slab.ts";

/** Linux: `<sys/mman.h>`, `<fcntl.h>`, `<unistd.h>`, `<errno.h>` of glibc 2.27 and later. */
const SYMBOLS = {
  memfd_create: {
    args: ["cstring" /* const char *name */, "u32" /* unsigned flags */],
    returns: "i32",
  },
  ftruncate: { args: ["i32" /* int fd */, "i64" /* off_t length */], returns: "i32" },
  open: {
    args: ["cstring" /* const char *path */, "i32" /* int flags */, "i32" /* mode_t mode */],
    returns: "i32",
  },
  close: { args: ["i32" /* int fd */], returns: "i32" },
  mmap: {
    args: [
      "ptr" /* void *addr */,
      "u64" /* size_t length */,
      "i32" /* int prot */,
      "i32" /* int flags */,
      "i32" /* int fd */,
      "i64" /* off_t offset */,
    ],
    returns: "ptr",
  },
  munmap: { args: ["ptr" /* void *addr */, "u64" /* size_t length */], returns: "i32" },
  __errno_location: { args: [], returns: "ptr" },
} as const;

const MFD_CLOEXEC = 1;
const O_RDWR_CLOEXEC = 0o2000002;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;

interface SharedSlabHandle {
  readonly address: number;
  readonly byteLength: number;
  readonly path: string;
}

/**
 * Slabs that two processes map, for instances in child processes.
 *
 * The memory is a memfd: it has no name in /dev/shm, so there is nothing to sweep when either side is killed, and the
 * size of /dev/shm (64 MB in a default container) does not limit it. The other process opens it through
 * `/proc/<pid>/fd/<fd>`, which needs the same user; that is why the maker keeps the descriptor open.
 */
export class SharedSlabs {
  readonly #libc = dlopen("libc.so.6", SYMBOLS).symbols;

  /** @throws Error when the system refuses. */
  allocate(byteLength: number): NativeSlab {
    const fd = this.#libc.memfd_create("tribune-slab", MFD_CLOEXEC);
    if (fd < 0) throw this.#failure("memfd_create", `for a slab of ${byteLength} bytes`);
    try {
      if (this.#libc.ftruncate(fd, byteLength) !== 0) {
        throw this.#failure("ftruncate", `to ${byteLength} bytes`);
      }
      const address = this.#map(fd, byteLength);
      const path = `/proc/${process.pid}/fd/${fd}`;
      return new NativeSlab({ address, byteLength, path }, () => {
        this.#unmap(address, byteLength);
        this.#libc.close(fd);
      });
    } catch (error) {
      this.#libc.close(fd);
      throw error;
    }
  }

  /** Maps a slab that the other process made. @throws Error when that process is gone or belongs to another user. */
  attach(handle: SharedSlabHandle): NativeSlab {
    const fd = this.#libc.open(handle.path, O_RDWR_CLOEXEC, 0);
    if (fd < 0) throw this.#failure("open", handle.path);
    try {
      const address = this.#map(fd, handle.byteLength);
      return new NativeSlab(handle, () => this.#unmap(address, handle.byteLength), address);
    } finally {
      this.#libc.close(fd);
    }
  }

  /** Nothing to do: the memory goes with the last mapping. */
  reclaim(_handle: SharedSlabHandle): void {
    return;
  }

  #map(fd: number, byteLength: number): number {
    const pointer = this.#libc.mmap(null, byteLength, PROT_READ_WRITE, MAP_SHARED, fd, 0);
    const address = Number(pointer);
    // MAP_FAILED is (void *)-1, which arrives as a number near 2^64.
    if (address === 0 || address > Number.MAX_SAFE_INTEGER || address === -1) {
      throw this.#failure("mmap", `of ${byteLength} bytes`);
    }
    return address;
  }

  #unmap(address: number, byteLength: number): void {
    this.#libc.munmap(address as Pointer, byteLength);
  }

  #failure(call: string, what: string): Error {
    const location = this.#libc.__errno_location();
    const errno = location === null ? 0 : read.i32(location, 0);
    return new Error(`${call} ${what} failed: errno ${errno}`);
  }
}
