/**
 * What the records of a prepared database are called. The same number always gives the same record, so that cases know
 * what there is to find without asking.
 */
import { type HostName, parseHostName } from '../src/names/host-name.ts'

/** Parts of many names: a search for one of them finds one record in sixteen. */
export const brands =
  'acme globex initech umbrella hooli vehement massive soylent stark wayne wonka cyberdyne tyrell oceanic duff bücher'.split(
    ' ',
  )

const words = 'go link to get my see app jump try join buy read'.split(' ')

/** Multiplying by the one modulo the other, a prime, gives every number another. */
const factor = 48_271
export const modulus = 2 ** 31 - 1

/** Six characters that are part of no other name, but by chance. `record` counts from 1. */
export function tokenOf(record: number): string {
  return tokenNumberOf(record).toString(36).padStart(6, '0')
}

/** Between 1 and `modulus`, all of them as likely. */
export function tokenNumberOf(record: number): number {
  return (record * factor) % modulus
}

/** A text that is part of this name and hardly of another; there are many for each name. */
export function rarePartOf(record: number): string {
  const start = below(3)
  const name = `${tokenOf(record)}.${pick(brands, record)}.com`
  return name.slice(start, 6 + below(name.length - 6))
}

/** One name in sixteen is not ASCII. */
export function hostNameOf(record: number): HostName {
  const name = parseHostName(`${pick(words, record >> 4)}-${tokenOf(record)}.${pick(brands, record)}.com`)
  if ('name' in name) return name
  throw new Error(`Record ${record} has no valid name: ${name.at('name').message}`)
}

export function urlsOf(record: number): { homepage_url: string; not_found_url: string | null } {
  const site = `https://www.example.com/${tokenOf(record)}`
  return { homepage_url: site, not_found_url: record % 2 === 0 ? `${site}/lost` : null }
}

function pick(list: readonly string[], at: number): string {
  return list[at % list.length] as string
}

/** A random integer from 0 on. */
export function below(end: number): number {
  return Math.floor(Math.random() * end)
}
