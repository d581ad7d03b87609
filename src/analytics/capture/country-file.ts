import { stat } from 'node:fs/promises'
import { Periodic } from '../../lib/periodic.ts'
import { Countries, type UnusableCountries } from './countries.ts'

/** The outcome of reading the file, for the log. `isUsed` is false if the file is unusable. */
export interface CountryFileReport {
  readonly isUsed: boolean
  readonly message: string
}

/** How often the file is checked for changes. Milliseconds. */
const checkEveryMs = 2_000

/** The operator's country database, which may be replaced at any time. The last usable data stays in use. */
export class CountryFile implements Pick<Countries, 'of'> {
  readonly #path: string
  readonly #report: (outcome: CountryFileReport) => void
  #countries: Countries | undefined
  /** The data in use, for messages. */
  #inUse = 'the bundled country data'
  /** The last version that was read, even if it was unusable. */
  #read: string | undefined
  /** The version at the last check. */
  #seen: string | undefined

  private constructor(path: string, report: (outcome: CountryFileReport) => void) {
    this.#path = path
    this.#report = report
  }

  /** Reads the file, and uses the bundled data while it is unusable. See `openCountries`. */
  static async open(path: string, report: (outcome: CountryFileReport) => void): Promise<CountryFile> {
    const file = new CountryFile(path, report)
    file.#load(await versionOf(path))
    file.#countries ??= Countries.readBundled()
    return file
  }

  /** See `Countries.of`. */
  of(address: string, header: string): string | null {
    return (this.#countries as Countries).of(address, header)
  }

  /** Reads the file again if it has changed before the last check, but not since: a copy may still be running. */
  async check(): Promise<void> {
    const version = await versionOf(this.#path)
    const isSettled = version === this.#seen
    this.#seen = version
    if (isSettled && version !== this.#read) this.#load(version)
  }

  #load(version: string): void {
    const isFirst = this.#read === undefined
    this.#read = version
    try {
      this.#countries = Countries.read(this.#path)
      this.#inUse = 'the country data read before'
      if (!isFirst) this.#report({ isUsed: true, message: `Country data reloaded from GEOIP_DB ${this.#path}.` })
    } catch (error) {
      const { reason } = error as UnusableCountries
      const message = `The file of GEOIP_DB can't be used: ${reason} Waymark uses ${this.#inUse} until it is fixed.`
      this.#report({ isUsed: false, message })
    }
  }
}

/** Opens the database at `path` and watches it, or opens the bundled one if `path` is null. `report` gets each outcome. */
export async function openCountries(
  path: string | null,
  report: (outcome: CountryFileReport) => void,
): Promise<Pick<Countries, 'of'>> {
  if (path === null) return Countries.readBundled()
  const file = await CountryFile.open(path, report)
  const onError = (error: unknown) => report({ isUsed: false, message: String(error) })
  new Periodic(() => file.check(), { everyMs: checkEveryMs, onError }).start()
  return file
}

/** Identifies the content of a file. `ctimeNs` also changes with a rename and with restored timestamps. */
async function versionOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, ctimeNs].join(' ')
  } catch (error) {
    return String(error)
  }
}
