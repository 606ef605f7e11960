/** A call whose message is to be held in memory. */
export interface ByteHolder {
  /** Its reservation was granted: it may read on. */
  onReserved(): void;
  /**
   * Changes with each byte it receives or sends: a holder whose number stands still while others wait has stalled.
   * NaN, which never equals itself, while it waits for its inference.
   */
  readonly movedBytes: number;
  /** It stood still for too long while others waited: it must end and release. */
  onStalled(): void;
}

interface Waiter {
  readonly holder: ByteHolder;
  readonly bytes: number;
}

/** How often holders are looked at while others wait. */
const STALL_CHECK_MS = 30_000;

/**
 * Bounds the bytes of messages that are being received, waiting for their inference, or being sent. A call asks before
 * it takes a message in and waits its turn when there is no room; HTTP/2's flow control holds its client back
 * meanwhile. A message larger than the whole budget is let in alone.
 *
 * Clients that stop in the middle of a message would keep their bytes for ever. They may, until others wait: then a
 * holder that has not moved between two checks is ended.
 */
export class ByteBudget {
  readonly #limitBytes: number;
  readonly #stallCheckMs: number;
  readonly #holders = new Map<ByteHolder, { bytes: number; movedBytes: number }>();
  readonly #waiters: Waiter[] = [];
  #usedBytes = 0;
  #stallTimer: Timer | undefined;

  constructor(limitBytes: number, stallCheckMs = STALL_CHECK_MS) {
    this.#limitBytes = limitBytes;
    this.#stallCheckMs = stallCheckMs;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** @returns false when the holder has to wait for `onReserved`. At most one wait per holder at a time. */
  reserve(holder: ByteHolder, bytes: number): boolean {
    if (this.#waiters.length === 0 && this.#hasRoom(bytes)) {
      this.add(holder, bytes);
      return true;
    }
    this.#waiters.push({ holder, bytes });
    this.#stallTimer ??= setInterval(() => this.#endStalled(), this.#stallCheckMs);
    return false;
  }

  /** Counts bytes that are there already, room or not. */
  add(holder: ByteHolder, bytes: number): void {
    const held = this.#holders.get(holder);
    if (held) held.bytes += bytes;
    else this.#holders.set(holder, { bytes, movedBytes: -1 });
    this.#usedBytes += bytes;
  }

  /** Gives back all that a holder has or waits for. Calling it again does nothing. */
  release(holder: ByteHolder): void {
    const held = this.#holders.get(holder);
    if (held) {
      this.#holders.delete(holder);
      this.#usedBytes -= held.bytes;
    }
    const at = this.#waiters.findIndex((waiter) => waiter.holder === holder);
    if (at >= 0) this.#waiters.splice(at, 1);
    this.#grant();
  }

  #hasRoom(bytes: number): boolean {
    return this.#usedBytes === 0 || this.#usedBytes + bytes <= this.#limitBytes;
  }

  #grant(): void {
    while (this.#waiters[0] && this.#hasRoom(this.#waiters[0].bytes)) {
      const waiter = this.#waiters.shift();
      if (!waiter) break;
      this.add(waiter.holder, waiter.bytes);
      waiter.holder.onReserved();
    }
    if (this.#waiters.length > 0) return;
    clearInterval(this.#stallTimer);
    this.#stallTimer = undefined;
    for (const held of this.#holders.values()) held.movedBytes = -1;
  }

  #endStalled(): void {
    const stalled: ByteHolder[] = [];
    for (const [holder, held] of this.#holders) {
      const { movedBytes } = holder;
      if (movedBytes === held.movedBytes) stalled.push(holder);
      held.movedBytes = movedBytes;
    }
    for (const holder of stalled) holder.onStalled();
  }
}
