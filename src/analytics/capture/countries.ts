import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { BlockList, isIP } from 'node:net'
import { type CountryResponse, Reader } from 'mmdb-lib'
import { addressIn } from '../../lib/ip-address.ts'
import { LruCache } from '../../lib/lru-cache.ts'
import { Periodic } from '../../lib/periodic.ts'

/** Built by `scripts/build-countries.ts`. NOTICE names the source. */
const bundled = new URL('countries.mmdb', import.meta.url)

/** A record of the database. MaxMind's databases have `country.iso_code`, others have `country_code`. */
type CountryRecord = CountryResponse & { readonly country_code?: string }

/** Decoded records in memory. Decoding one takes half of the time of a lookup. */
const maxRecords = 1_000

/** A database of the countries of IP addresses. */
export class Countries {
  /** The file, in memory that threads share. */
  readonly bytes: SharedArrayBuffer
  readonly #places: Reader<CountryRecord>

  /** Uses the bytes of a usable file. */
  constructor(bytes: SharedArrayBuffer) {
    this.bytes = bytes
    this.#places = new Reader(Buffer.from(bytes), { cache: new LruCache(maxRecords) })
  }

  /** Reads the bundled data. */
  static readBundled(): Countries {
    return new Countries(read(bundled))
  }

  /** Reads the database of countries or cities at `path`, in MaxMind's format. Throws `UnusableCountries`. */
  static read(path: string): Countries {
    const bytes = readBytes(path)
    assertUsable(Buffer.from(bytes), path)
    return new Countries(bytes)
  }

  /** Returns the ISO 3166-1 alpha-2 code in `header`, or the code of the IP address if the header is empty. Null if unknown. */
  of(address: string, header: string): string | null {
    return countryIn(header === '' ? (this.#findCode(addressIn(address)) ?? '') : header)
  }

  #findCode(address: string): string | undefined {
    const version = isIP(address)
    // In an IPv4 tree, an IPv6 address would match any record.
    if (version === 0 || version > this.#places.metadata.ipVersion) return undefined
    if (special.check(address, version === 4 ? 'ipv4' : 'ipv6')) return undefined
    try {
      const place = this.#places.get(address)
      return place?.country?.iso_code ?? place?.country_code
    } catch {
      // A record of the file is damaged.
      return undefined
    }
  }
}

/** Returns the ISO 3166-1 alpha-2 code that a header or a database has; null for an unknown country. */
export function countryIn(text: string): string | null {
  const code = text.trim().toUpperCase()
  return /^[A-Z]{2}$/.test(code) && !noCountries.has(code) ? code : null
}

/** Codes of databases and proxies for unknown countries and for regions. */
const noCountries = new Set(['XX', 'ZZ', 'AP', 'EU'])

/** Networks without a location (RFC 6890), though some databases name one. */
const special = new BlockList()
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  ...['::/127', '2001::/23', '2001:db8::/32', '2002::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
]) {
  const [address = '', prefix] = network.split('/')
  special.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4')
}

/** The limit for a file, which each process reads into memory. */
const maxMebibytes = 512
/** Does not block if the file is a pipe. */
const flag = constants.O_RDONLY | constants.O_NONBLOCK

function readBytes(path: string): SharedArrayBuffer {
  try {
    return read(path)
  } catch (error) {
    if (error instanceof UnusableCountries) throw error
    throw new UnusableCountries(`The file cannot be read: ${(error as Error).message}.`)
  }
}

/** Reads a file without a copy in memory. If it shrinks meanwhile, the rest is zeros. */
function read(path: string | URL): SharedArrayBuffer {
  const file = openSync(path, flag)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new UnusableCountries(`${path} is not a regular file.`)
    if (stats.size > maxMebibytes * 2 ** 20) throw new UnusableCountries(`${path} is larger than ${maxMebibytes} MiB.`)
    const bytes = new SharedArrayBuffer(stats.size)
    const to = Buffer.from(bytes)
    for (let at = 0, size = -1; size !== 0 && at < to.length; at += size) size = readSync(file, to, { offset: at })
    return bytes
  } finally {
    closeSync(file)
  }
}

function assertUsable(bytes: Buffer, path: string): void {
  const places = openReader(bytes)
  if (places === undefined) throw new UnusableCountries(`${path} is not a MaxMind DB file, or is truncated.`)
  const { searchTreeSize, databaseType } = places.metadata
  if (!['iso_code', 'country_code'].some((key) => bytes.includes(key, searchTreeSize))) {
    throw new UnusableCountries(`${path} has no countries. Its type is ${JSON.stringify(databaseType)}.`)
  }
  // No node has two children that are the root. A crash during a copy can leave zeros.
  if (bytes.subarray(0, searchTreeSize).includes(separator) || !hasReadableRecords(places))
    throw new UnusableCountries(`${path} is damaged.`)
}

/** The bytes between the tree and the records. */
const separator = Buffer.alloc(16)

/** Returns undefined unless the bytes begin with a search tree and end with metadata that describe this tree. */
function openReader(bytes: Buffer): Reader<CountryRecord> | undefined {
  try {
    const places = new Reader<CountryRecord>(bytes)
    const end = places.metadata.searchTreeSize
    return bytes.subarray(end, end + separator.length).equals(separator) ? places : undefined
  } catch {
    return undefined
  }
}

/** Looks up addresses in all parts of the address space, because a damaged file has unreadable records. */
function hasReadableRecords(places: Reader<CountryRecord>): boolean {
  try {
    for (let part = 0; part < 256; part++) {
      places.get(`${part}.${part}.0.1`)
      if (places.metadata.ipVersion === 6) places.get(`${(0x2000 + part * 16).toString(16)}::1`)
    }
    return true
  } catch {
    return false
  }
}

/** An unusable database. `reason` is a sentence, and the message can follow "GEOIP_DB". */
class UnusableCountries extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`must name a database of countries or cities in MaxMind's format (.mmdb). ${reason}`)
    this.reason = reason
  }
}

/** The outcome of reading the file, for the log. `isUsed` is false if the file is unusable. */
export interface CountryFileReport {
  readonly isUsed: boolean
  readonly message: string
}

/** Gets the bytes of usable data. */
type Share = (bytes: SharedArrayBuffer) => void

/** How often the file is checked for changes. Milliseconds. */
const checkEveryMs = 2_000

/** The operator's country database, which may be replaced at any time. The last usable data stays in use. */
export class CountryFile implements Pick<Countries, 'of'> {
  readonly #path: string
  readonly #report: (outcome: CountryFileReport) => void
  readonly #share: Share
  #countries: Countries | undefined
  /** The data in use, for messages. */
  #inUse = 'the bundled country data'
  /** The last version that was read, even if it was unusable. */
  #read: string | undefined
  /** The version at the last check. */
  #seen: string | undefined

  private constructor(path: string, report: (outcome: CountryFileReport) => void, share: Share) {
    this.#path = path
    this.#report = report
    this.#share = share
  }

  /** Reads the file, and uses the bundled data while it is unusable. See `openCountries`. */
  static async open(
    path: string,
    report: (outcome: CountryFileReport) => void,
    share: Share = () => undefined,
  ): Promise<CountryFile> {
    const file = new CountryFile(path, report, share)
    file.#load(await readVersion(path))
    if (file.#countries === undefined) file.#use(Countries.readBundled())
    return file
  }

  /** See `Countries.of`. */
  of(address: string, header: string): string | null {
    return (this.#countries as Countries).of(address, header)
  }

  /** Reads the file again if it has changed before the last check, but not since: a copy may still be running. */
  async check(): Promise<void> {
    const version = await readVersion(this.#path)
    const isSettled = version === this.#seen
    this.#seen = version
    if (isSettled && version !== this.#read) this.#load(version)
  }

  #use(countries: Countries): void {
    this.#countries = countries
    this.#share(countries.bytes)
  }

  #load(version: string): void {
    const isFirst = this.#read === undefined
    this.#read = version
    try {
      this.#use(Countries.read(this.#path))
      this.#inUse = 'the country data read before'
      if (!isFirst) this.#report({ isUsed: true, message: `Country data reloaded from GEOIP_DB ${this.#path}.` })
    } catch (error) {
      const { reason } = error as UnusableCountries
      const message = `The file of GEOIP_DB can't be used: ${reason} Waymark uses ${this.#inUse} until it is fixed.`
      this.#report({ isUsed: false, message })
    }
  }
}

/**
 * Opens the database at `path` and watches it, or opens the bundled one if `path` is null. `report` gets each outcome, and
 * `share` the bytes of all used data.
 */
export async function openCountries(
  path: string | null,
  report: (outcome: CountryFileReport) => void,
  share: Share = () => undefined,
): Promise<Pick<Countries, 'of'>> {
  if (path === null) {
    const countries = Countries.readBundled()
    share(countries.bytes)
    return countries
  }
  const file = await CountryFile.open(path, report, share)
  const onError = (error: unknown) => report({ isUsed: false, message: String(error) })
  new Periodic(() => file.check(), { everyMs: checkEveryMs, onError }).start()
  return file
}

/** Identifies the content of a file. `ctimeNs` also changes with a rename and with restored timestamps. */
async function readVersion(path: string): Promise<string> {
  try {
    const { dev, ino, size, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, ctimeNs].join(' ')
  } catch (error) {
    return String(error)
  }
}
