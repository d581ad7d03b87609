import type { Db } from '../storage/port.ts'
import type { DomainRow } from './statements.ts'
import { servedDomains, servedDomainsAfter } from './store.ts'

/** So few at a time that no request waits for them. */
const pageSize = 500
const refreshedAtOnce = 100

/** All domains that are served. At most one of `load` and `refresh` runs at a time. */
export class DomainTable {
  readonly #db: Db
  #byName = new Map<string, DomainRow>()
  #byId = new Map<number, DomainRow>()

  constructor(db: Db) {
    this.#db = db
  }

  get size(): number {
    return this.#byId.size
  }

  named(name: string): DomainRow | undefined {
    return this.#byName.get(name)
  }

  /** Reads all of them; until it has, the old ones are served. */
  async load(): Promise<void> {
    const [byName, byId] = [new Map<string, DomainRow>(), new Map<number, DomainRow>()]
    let page: DomainRow[]
    let last = 0
    do {
      page = await servedDomainsAfter(this.#db, last, pageSize)
      for (const row of page) {
        const domain = fresh(row)
        byName.set(domain.name, domain)
        byId.set(domain.id, domain)
        last = domain.id
      }
    } while (page.length === pageSize)
    this.#byName = byName
    this.#byId = byId
  }

  /** Reads those with these ids again; those that are not there any more are forgotten. */
  async refresh(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += refreshedAtOnce) {
      const some = ids.slice(from, from + refreshedAtOnce)
      const found = await servedDomains(this.#db, some)
      for (const id of some) this.#forget(id)
      for (const row of found) {
        const domain = fresh(row)
        this.#byName.set(domain.name, domain)
        this.#byId.set(domain.id, domain)
      }
    }
  }

  #forget(id: number): void {
    const domain = this.#byId.get(id)
    if (domain === undefined) return
    this.#byId.delete(id)
    // Another domain may have taken the name since.
    if (this.#byName.get(domain.name) === domain) this.#byName.delete(domain.name)
  }
}

/** V8 handles the engine's own objects more slowly, and they take more memory. */
function fresh({ id, name, homepage_url, not_found_url }: DomainRow): DomainRow {
  return { id, name, homepage_url, not_found_url }
}
