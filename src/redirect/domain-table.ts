/** The domains in memory. */
import { type Db, parts } from '../storage/port.ts'
import { type ServedDomain, servedDomains, servedDomainsAfter } from './store.ts'

/** Domains that one query reads, few enough not to delay requests. */
const pageSize = 500
/** Changed domains that one query reads. */
const refreshBatchSize = 128

/** All domains of the instance. The caller must not run `load` and `refresh` at the same time. */
export class DomainTable {
  readonly #db: Db
  #byName = new Map<string, ServedDomain>()
  #byId = new Map<number, ServedDomain>()
  /** The table that `load` fills. Changes during that time belong in both. A failed load is repeated, with a new table. */
  #loading: DomainTable | undefined

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
    this.#loading = loaded
    let page: ServedDomain[] = []
    do {
      page = await servedDomainsAfter(this.#db, page.at(-1)?.id ?? 0, pageSize)
      for (const row of page) loaded.set(row)
    } while (page.length === pageSize)
    this.#loading = undefined
    this.#byName = loaded.#byName
    this.#byId = loaded.#byId
  }

  /** Reads the domains with these ids again, and drops deleted domains. */
  async refresh(ids: readonly number[]): Promise<void> {
    for (const batch of parts(ids, refreshBatchSize)) {
      const found = new Map((await servedDomains(this.#db, batch)).map((domain) => [domain.id, domain]))
      for (const id of batch) {
        const domain = found.get(id)
        if (domain === undefined) this.#drop(id)
        else this.set(domain)
      }
    }
  }

  /** Replaces a domain, unless a later version is known: a poll may end after a change that it has not seen. */
  set(domain: ServedDomain): void {
    this.#loading?.set(domain)
    const known = this.#byId.get(domain.id)
    if (known !== undefined && known.updated_at > domain.updated_at) return
    this.#drop(domain.id)
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
