import { setTimeout as wait } from 'node:timers/promises'
import type { Countries } from '../analytics/capture/countries.ts'
import type { Visit } from '../analytics/capture/visit.ts'
import type { ServedLink } from './store.ts'

/** How long a visitor waits for countries, and the pause after a failure. Milliseconds. */
const [maxWaitMs, retryMs] = [5_000, 1_000]

interface Loaders {
  /** Loads the countries of IP addresses. */
  readonly loadCountries: () => Promise<Pick<Countries, 'of'>>
  /** Returns the salt of the day that starts at this time, in Unix milliseconds, or a promise if it must be read. */
  readonly findSalt: (dayStartMs: number) => Uint8Array | undefined | Promise<Uint8Array | undefined>
  /** Gets an error that leaves facts unknown. */
  readonly onProblem: (error: unknown) => void
}

/** The facts of a visitor that decide which data rules need. */
interface PreparedVisitor extends Pick<Visit, 'atMs' | 'class'> {
  readonly hasCountryHeader: boolean
}

/** The data that rules look visitors up in. It is loaded when a link with rules first needs it. */
export class VisitorSources {
  readonly #loaders: Loaders
  #loading: Promise<void> | undefined
  #failedAt = Number.NEGATIVE_INFINITY
  /** Null while they are not loaded. */
  countries: Pick<Countries, 'of'> | null = null

  constructor(loaders: Loaders) {
    this.#loaders = loaders
  }

  /** Returns the salt of the day that starts at this time, in Unix milliseconds; undefined if it is unknown. */
  findSalt(dayStartMs: number): Uint8Array | undefined {
    const salt = this.#loaders.findSalt(dayStartMs)
    return salt instanceof Promise ? undefined : salt
  }

  /**
   * Returns undefined if all data is loaded that the rules of a link need for a visitor. Otherwise returns a promise, which
   * resolves when the data is loaded or can't be. Without it, facts are unknown, and variants are drawn at random.
   */
  prepare(link: Pick<ServedLink, 'rules'> | null, visitor: PreparedVisitor): Promise<unknown> | undefined {
    const rules = link?.rules
    if (!rules || rules.needs.size === 0 || visitor.class !== 'person') return undefined
    const salt = rules.needs.has('draw') && this.#loaders.findSalt(rules.calendar.hourAt(visitor.atMs).dayStartMs)
    const isCountryUnknown = this.countries === null && !visitor.hasCountryHeader
    const countries = rules.needs.has('country') && isCountryUnknown && this.#loadCountries()
    return salt instanceof Promise || countries instanceof Promise ? Promise.all([salt, countries]) : undefined
  }

  #loadCountries(): Promise<unknown> | undefined {
    if (performance.now() - this.#failedAt < retryMs) return undefined
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    const isLate = wait(maxWaitMs, undefined, { ref: false }).then(() => {
      // Later visitors don't wait for a thread that hangs.
      if (this.countries === null) this.#failedAt = performance.now()
    })
    return Promise.race([this.#loading, isLate])
  }

  async #load(): Promise<void> {
    try {
      this.countries = await this.#loaders.loadCountries()
    } catch (error) {
      this.#failedAt = performance.now()
      this.#loaders.onProblem(error)
    }
  }
}
