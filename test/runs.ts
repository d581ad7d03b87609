/** Returns how many cases a random test tries: all of them with `FULL=1` in the environment, otherwise `usual`. */
export function runs(full: number, usual: number = Math.min(full, 150)): number {
  return process.env.FULL === '1' ? full : usual
}
