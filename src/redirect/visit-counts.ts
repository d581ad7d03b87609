const kinds = [
  'redirect',
  'homepage',
  'not_found',
  'expired',
  'preview',
  'password',
  'robots',
  'favicon',
  'unknown_host',
  'loop',
  'prefetch',
  'method_not_allowed',
] as const

/** The kind of response to a visit. */
export type VisitKind = (typeof kinds)[number]

/** Counts the visits of this process by kind of response. */
export class VisitCounts {
  readonly #counts = new Map<string, number>(kinds.map((kind) => [kind, 0]))

  add(kind: VisitKind): void {
    this.#counts.set(kind, (this.#counts.get(kind) as number) + 1)
  }

  /** Returns each kind of response and its count, including zero. */
  entries(): Iterable<readonly [string, number]> {
    return this.#counts
  }
}
