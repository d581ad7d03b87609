import { constants, readFileSync, type Stats, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { BlockList, isIP } from 'node:net'
import { type CountryResponse, Reader } from 'mmdb-lib'
import { addressIn } from '../../lib/ip-address.ts'

/** Built by `scripts/build-countries.ts`. NOTICE names the source. */
const bundled = new URL('countries.mmdb', import.meta.url)

/** A record of the database. MaxMind's databases have `country.iso_code`, others have `country_code`. */
type Place = CountryResponse & { readonly country_code?: string }

/** Tells the countries of visitors. No address is remembered. */
export class Countries {
  readonly #places: Reader<Place>

  private constructor(places: Reader<Place>) {
    this.#places = places
  }

  /** Reads the data that Waymark comes with. */
  static readBundled(): Countries {
    return new Countries(new Reader(readFileSync(bundled)))
  }

  /**
   * Reads the database of countries or cities at `path`, in MaxMind's format. Throws `UnusableCountries`.
   */
  static async read(path: string): Promise<Countries> {
    ensureReadable(await stat(path).catch(failRead), path)
    return new Countries(placesIn(await readFile(path, { flag }).catch(failRead), path))
  }

  /**
   * The country, as ISO 3166-1 alpha-2: what `header` says or, if that is empty, where the client's address is, which a
   * proxy may have forwarded. Null if it is unknown.
   */
  of(address: string, header: string): string | null {
    const code = (header === '' ? this.#codeOf(addressIn(address)) : header)?.trim().toUpperCase() ?? ''
    return /^[A-Z]{2}$/.test(code) && !noCountries.has(code) ? code : null
  }

  #codeOf(address: string): string | undefined {
    const version = isIP(address)
    // In a tree of IPv4, an address of IPv6 would lead anywhere.
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

/** What databases and proxies write for unknown countries, and for regions. */
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

/** Checks a file. Throws `UnusableCountries`. */
export function checkCountries(path: string): void {
  ensureReadable(
    orFailRead(() => statSync(path)),
    path,
  )
  placesIn(
    orFailRead(() => readFileSync(path, { flag })),
    path,
  )
}

/** Larger than databases of countries and cities are. Each process reads the whole file into memory. */
const maxMebibytes = 512
/** A pipe that replaces the file after the check must not block. */
const flag = constants.O_RDONLY | constants.O_NONBLOCK

function ensureReadable(stats: Stats, path: string): void {
  if (!stats.isFile()) throw new UnusableCountries(`${path} is not a regular file.`)
  if (stats.size > maxMebibytes * 2 ** 20) throw new UnusableCountries(`${path} is larger than ${maxMebibytes} MiB.`)
}

function orFailRead<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    failRead(error as Error)
  }
}

function placesIn(bytes: Buffer, path: string): Reader<Place> {
  const places = readerOf(bytes)
  if (places === undefined) throw new UnusableCountries(`${path} is not a MaxMind DB file, or is truncated.`)
  const { searchTreeSize, databaseType } = places.metadata
  if (!['iso_code', 'country_code'].some((key) => bytes.includes(key, searchTreeSize))) {
    throw new UnusableCountries(`${path} has no countries. Its type is ${JSON.stringify(databaseType)}.`)
  }
  // No node has two children that are the root. A crash during a copy can leave zeros.
  if (bytes.subarray(0, searchTreeSize).includes(separator) || !hasReadableRecords(places))
    throw new UnusableCountries(`${path} is damaged.`)
  return places
}

/** The bytes between the tree and the records. */
const separator = Buffer.alloc(16)

/** Returns undefined unless the bytes begin with a search tree and end with metadata that describe this tree. */
function readerOf(bytes: Buffer): Reader<Place> | undefined {
  try {
    const places = new Reader<Place>(bytes)
    const end = places.metadata.searchTreeSize
    return bytes.subarray(end, end + separator.length).equals(separator) ? places : undefined
  } catch {
    return undefined
  }
}

/** Looks up addresses from all parts of the address space: a damaged file has records that cannot be decoded. */
function hasReadableRecords(places: Reader<Place>): boolean {
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

function failRead(error: Error): never {
  throw new UnusableCountries(`The file cannot be read: ${error.message}.`)
}

/** An unusable database. `reason` is a sentence, and the message can follow "GEOIP_DB". */
export class UnusableCountries extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`must name a database of countries or cities in MaxMind's format (.mmdb). ${reason}`)
    this.reason = reason
  }
}
