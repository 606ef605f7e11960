import { dlopen } from "bun:ffi";

/** Linux `<sys/prctl.h>`. */
const SYMBOLS = {
  prctl: {
    args: [
      "i32" /* int option */,
      "u64" /* unsigned long arg2 */,
      "u64",
      "u64",
      "u64" /* unused here */,
    ],
    returns: "i32",
  },
} as const;

const PR_SET_PDEATHSIG = 1;
const PR_SET_TIMERSLACK = 29;
const SIGKILL = 9;

function prctl(option: number, value: number): boolean {
  const library = dlopen("libc.so.6", SYMBOLS);
  try {
    return library.symbols.prctl(option, value, 0, 0, 0) === 0;
  } finally {
    library.close();
  }
}

/**
 * Lets the calling thread's timed waits end up to `slackNs` late, in place of the kernel's 50 µs. Threads made later
 * inherit it. @returns false where the system refuses; timers are then only less precise.
 */
export function setTimerSlack(slackNs: number): boolean {
  return prctl(PR_SET_TIMERSLACK, slackNs);
}

/** Has the kernel kill this process when the thread that started it ends. @returns false where the system refuses. */
export function dieWithParent(): boolean {
  return prctl(PR_SET_PDEATHSIG, SIGKILL);
}
