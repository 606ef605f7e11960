/**
 * The socket behind an open descriptor, which it owns from now on.
 *
 * `Bun.connect` takes `fd` at run time; its types (bun-types 1.4) do not say so, hence the cast.
 */
export function socketFromFd(fd: number, socket: Bun.SocketHandler): Promise<Bun.Socket> {
  return Bun.connect({ fd, socket } as unknown as Bun.UnixSocketOptions);
}
