/** Lets promise callbacks and `setImmediate` that are due run, however long their chains are. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
