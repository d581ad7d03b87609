import { foldCase } from '../lib/text.ts'
import type { DecidedRow } from './decide.ts'
import type { LossKind } from './file-row.ts'
import { newAddresses } from './links.ts'
import { linkedOutcomes, outcomes, type RowOutcome } from './schema.ts'
import type { Summary } from './store.ts'

/** Unmapped hosts that a plan names. */
const maxHosts = 100

/** Adds up the figures of a plan. */
export class PlanFigures {
  readonly #outcomes = Object.fromEntries(outcomes.map((each) => [each, 0])) as Record<RowOutcome, number>
  readonly #losses = new Map<LossKind, number>()
  readonly #unmapped = new Map<string, number>()
  /** Folded names of tags that the account doesn't have. */
  readonly #tags = new Set<string>()
  readonly #sums = { rows: 0, exact: 0, case_insensitive: 0, clicks: 0, click_days: 0, provable: 0, stored: 0 }
  #first: string | null = null
  #last: string | null = null

  /** Adds a row, whose hosts have these domains. */
  add({ decision, content, addresses, figures }: DecidedRow, domains: ReadonlyMap<string, unknown>): void {
    const { outcome, losses, code } = decision
    this.#sums.rows += 1
    this.#outcomes[outcome] += 1
    if (code === 'unmapped_host') {
      this.#addHost(addresses.find(({ host }) => domains.get(host) == null)?.host ?? content.host ?? '')
    }
    if (linkedOutcomes.includes(outcome)) this.#sums.provable += countProvable(addresses)
    const isNew = outcome === 'store' || outcome === 'rename'
    if (isNew || outcome === 'update') {
      for (const kind of losses) this.#losses.set(kind, (this.#losses.get(kind) ?? 0) + 1)
    }
    if (!isNew) return
    for (const { exact } of newAddresses(addresses)) this.#sums[exact ? 'exact' : 'case_insensitive'] += 1
    this.#sums.clicks += figures.clicks
    this.#sums.click_days += figures.days
    this.#addTime(content.created_at)
  }

  #addHost(host: string): void {
    const rows = this.#unmapped.get(host) ?? 0
    if (rows > 0 || this.#unmapped.size < maxHosts) this.#unmapped.set(host, rows + 1)
  }

  #addTime(at: string | null): void {
    if (at === null) return
    if (this.#first === null || at < this.#first) this.#first = at
    if (this.#last === null || at > this.#last) this.#last = at
  }

  /** Adds names of tags that the account doesn't have. */
  addTags(unknown: readonly string[]): void {
    for (const name of unknown) this.#tags.add(foldCase(name))
  }

  /** Returns the figures. `orphans` is the number of addresses with clicks that the file doesn't have. */
  summary(orphans: number): Summary {
    const losses = [...this.#losses].map(([kind, rows]) => ({ kind, rows }))
    if (orphans > 0) losses.push({ kind: 'orphan_clicks', rows: orphans })
    return {
      ...this.#sums,
      outcomes: this.#outcomes,
      new_tags: this.#tags.size,
      losses,
      unmapped_hosts: [...this.#unmapped].map(([host, rows]) => ({ host, rows })),
      first_link_at: this.#first,
      last_link_at: this.#last,
    }
  }
}

/** Returns the number of addresses that a proof compares, if their row has a link. */
export function countProvable(addresses: DecidedRow['addresses']): number {
  return addresses.filter(({ domain_id }) => domain_id !== null).length
}
