/** Loads what facts about visitors are computed with, when a link with rules first needs it. */
import type { Countries } from '../analytics/capture/countries.ts'
import type { ServedLink } from './store.ts'
import type { VisitorSources } from './visitor.ts'

interface Loaders {
  /** Loads the countries of IP addresses. */
  readonly loadCountries: () => Promise<Pick<Countries, 'of'>>
  /** Returns the salt of the day that starts at this time, in Unix milliseconds, or a promise if it must be read. */
  readonly saltOf: (dayStartMs: number) => Uint8Array | undefined | Promise<Uint8Array | undefined>
  /** Gets an error that leaves facts unknown. */
  readonly onProblem: (error: unknown) => void
}

export class VisitorFacts implements VisitorSources {
  readonly #loaders: Loaders
  countries: VisitorSources['countries'] = null
  softwareOf: VisitorSources['softwareOf'] = null

  constructor(loaders: Loaders) {
    this.#loaders = loaders
  }

  saltOf(dayStartMs: number): Uint8Array | undefined {
    const salt = this.#loaders.saltOf(dayStartMs)
    return salt instanceof Promise ? undefined : salt
  }

  /**
   * Returns undefined if everything is loaded that the rules of a link need at a time, in Unix milliseconds; otherwise a promise
   * that resolves when it is loaded, or when that fails: then facts stay unknown, and variants are drawn at random.
   */
  prepare(link: Pick<ServedLink, 'rules'> | null, atMs: number): Promise<unknown> | undefined {
    const { needs, calendar } = link?.rules ?? {}
    if (needs === undefined || needs.size === 0) return undefined
    const loading: Promise<unknown>[] = []
    if (needs.has('country') && this.countries === null) loading.push(this.#loadCountries())
    if (needs.has('software') && this.softwareOf === null) loading.push(this.#loadSoftware())
    if (needs.has('draw') && calendar !== undefined) {
      const salt = this.#loaders.saltOf(calendar.hourOf(atMs).dayStartMs)
      if (salt instanceof Promise) loading.push(salt)
    }
    return loading.length === 0 ? undefined : Promise.all(loading)
  }

  async #loadCountries(): Promise<void> {
    try {
      this.countries = await this.#loaders.loadCountries()
    } catch (error) {
      this.#loaders.onProblem(error)
    }
  }

  async #loadSoftware(): Promise<void> {
    // Importing the package takes 20 ms of CPU, and most servers never need it in this thread.
    this.softwareOf = (await import('../analytics/capture/software.ts')).softwareOf
  }
}
