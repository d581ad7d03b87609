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

/** How a visit was answered. */
export type VisitKind = (typeof kinds)[number]

/** Counts the visits of this process by how they were answered. */
export class VisitCounts {
  readonly #counts = new Map<string, number>(kinds.map((kind) => [kind, 0]))

  add(kind: VisitKind): void {
    this.#counts.set(kind, (this.#counts.get(kind) as number) + 1)
  }

  /** Each kind of answer and how many there were, including zero. */
  entries(): Iterable<readonly [string, number]> {
    return this.#counts
  }
}
