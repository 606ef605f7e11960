/**
 * A number as C's `%f` prints it. `toFixed` differs in three ways: exponents from 1e21 on, the sign of −0, and
 * halves, which it rounds away from zero and C to even. A double lies exactly half-way between two sixth decimals
 * only where it is an odd number of 128ths, and then seven decimals show it whole.
 */
export function formatSixDecimals(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}.000000`;
  if (Object.is(value, -0)) return "-0.000000";
  const isHalfway = Math.abs((value * 128) % 2) === 1;
  if (!isHalfway) return value.toFixed(6);
  const exact = value.toFixed(7);
  const isSixthEven = Number(exact.at(-2)) % 2 === 0;
  return isSixthEven ? exact.slice(0, -1) : value.toFixed(6);
}
