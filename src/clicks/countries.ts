import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type CountryResponse, Reader } from 'mmdb-lib'
import { StartupFailure } from '../errors.ts'
import { addressIn } from '../http/client-network.ts'

const packaged = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb'

/** A record of the database: MaxMind's own have `country.iso_code`, those of others `country_code`. */
type Place = CountryResponse & { readonly country_code?: string }

/** Tells the countries of visitors. No address is remembered. */
export class Countries {
  readonly #places: Reader<Place>

  private constructor(places: Reader<Place>) {
    this.#places = places
  }

  /**
   * Reads a database of countries or cities in MaxMind's format: the file at `path`, or the packaged one if that is null.
   * Throws `StartupFailure` if the file cannot be read, or is no such database.
   */
  static async open(path: string | null): Promise<Countries> {
    try {
      return new Countries(placesAt(path ?? fileURLToPath(import.meta.resolve(packaged))))
    } catch (error) {
      throw new StartupFailure(`GEOIP_DB ${(error as Error).message}`)
    }
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

/** Networks that are nowhere (RFC 6890), though some databases say otherwise. */
const special = new BlockList()
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  ...['::/127', '2001:db8::/32', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
]) {
  const [address = '', prefix] = network.split('/')
  special.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4')
}

/** Between the tree and the records. */
const separatorSize = 16

/** Null if the bytes are not those of a whole database of countries. */
function placesIn(bytes: Buffer): Reader<Place> | null {
  try {
    const places = new Reader<Place>(bytes)
    const start = places.metadata.searchTreeSize
    const separator = bytes.subarray(start, start + separatorSize)
    const isWhole = separator.length === separatorSize && separator.every((byte) => byte === 0)
    const hasCountries = ['iso_code', 'country_code'].some((key) => bytes.includes(key, start))
    return isWhole && hasCountries ? places : null
  } catch {
    return null
  }
}

/** Throws an error that says what is wrong with the file, after "GEOIP_DB". */
export function checkCountries(path: string): void {
  placesAt(path)
}

function placesAt(path: string): Reader<Place> {
  const places = placesIn(bytesOf(path))
  if (places === null) throw unusable(`${path} is not one, or is damaged.`)
  return places
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw unusable(`The file cannot be read: ${(error as Error).message}.`)
  }
}

function unusable(reason: string): Error {
  return new Error(`must name a database of countries or cities in MaxMind's format (.mmdb). ${reason}`)
}
