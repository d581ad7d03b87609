import type { Db } from '../storage/port.ts'
import type { DomainRow } from './store.ts'
import { servedDomains, servedDomainsAfter } from './store.ts'

/** Domains that one query reads, few enough not to delay requests. */
const pageSize = 500
const refreshBatchSize = 100

/** All domains of the instance. The caller must not run `load` and `refresh` at the same time. */
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

  /** Reads all domains. Until all are read, the old ones are served. */
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

  /** Reads the domains with these ids again, and drops deleted domains. */
  async refresh(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += refreshBatchSize) {
      const some = ids.slice(from, from + refreshBatchSize)
      const found = await servedDomains(this.#db, some)
      for (const id of some) this.#drop(id)
      for (const row of found) {
        const domain = fresh(row)
        this.#byName.set(domain.name, domain)
        this.#byId.set(domain.id, domain)
      }
    }
  }

  #drop(id: number): void {
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
