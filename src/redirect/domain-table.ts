import type { Db } from '../storage/port.ts'
import { type ServedDomain, servedDomains, servedDomainsAfter } from './store.ts'

/** Domains that one query reads, few enough not to delay requests. */
const pageSize = 500
const refreshBatchSize = 100

/** All domains of the instance. The caller must not run `load` and `refresh` at the same time. */
export class DomainTable {
  readonly #db: Db
  #byName = new Map<string, ServedDomain>()
  #byId = new Map<number, ServedDomain>()

  constructor(db: Db) {
    this.#db = db
  }

  get size(): number {
    return this.#byId.size
  }

  named(name: string): ServedDomain | undefined {
    return this.#byName.get(name)
  }

  /** Reads all domains. Until all are read, the old ones are served. */
  async load(): Promise<void> {
    const loaded = new DomainTable(this.#db)
    let page: ServedDomain[] = []
    do {
      page = await servedDomainsAfter(this.#db, page.at(-1)?.id ?? 0, pageSize)
      for (const row of page) loaded.#add(row)
    } while (page.length === pageSize)
    this.#byName = loaded.#byName
    this.#byId = loaded.#byId
  }

  /** Reads the domains with these ids again, and drops deleted domains. */
  async refresh(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += refreshBatchSize) {
      const some = ids.slice(from, from + refreshBatchSize)
      const found = await servedDomains(this.#db, some)
      for (const id of some) this.#drop(id)
      for (const row of found) this.#add(row)
    }
  }

  #add(domain: ServedDomain): void {
    this.#byName.set(domain.name, domain)
    this.#byId.set(domain.id, domain)
  }

  #drop(id: number): void {
    const domain = this.#byId.get(id)
    if (domain === undefined) return
    this.#byId.delete(id)
    // Another domain may have taken the name since.
    if (this.#byName.get(domain.name) === domain) this.#byName.delete(domain.name)
  }
}
