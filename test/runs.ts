/** Whether random and crash tests run all of their cases. */
export const isFull = process.env.FULL === '1'

/** Returns how many cases a random test tries: all of them with `FULL=1` in the environment, otherwise `usual`. */
export function runs(full: number, usual: number = Math.min(full, 150)): number {
  return isFull ? full : usual
}
