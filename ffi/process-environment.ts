import { dlopen } from "bun:ffi";

/** glibc, `<stdlib.h>` (POSIX.1-2017). */
const SYMBOLS = {
  setenv: {
    args: [
      "cstring" /* const char *name */,
      "cstring" /* const char *value */,
      "i32" /* int overwrite */,
    ],
    returns: "i32",
  },
  getenv: { args: ["cstring" /* const char *name */], returns: "cstring" },
} as const;

/**
 * Sets a variable of the environment that native libraries see, unless it is set already. `process.env` is a copy made
 * at the start: what is changed there reaches child processes, and no library of this process.
 *
 * @returns the value that it has now.
 */
export function setNativeVariable(name: string, value: string): string {
  const libc = dlopen("libc.so.6", SYMBOLS).symbols;
  // Writing the environment while another thread reads it is not safe, so it is not done without need.
  const present = libc.getenv(name);
  if (present !== null) return present;
  libc.setenv(name, value, 0);
  return libc.getenv(name) ?? "";
}
