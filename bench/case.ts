/**
 * Measured cases and their requests.
 */
import { type Call, withKey } from './call.ts'
import { below } from './records.ts'
import type { Seed, SeedKind } from './seed.ts'
import type { ListenerName } from './servers.ts'

/** A prepared database during a measurement. */
export interface Stock extends Seed {
  /** Ids of domains that a case may delete. */
  readonly spare: number[]
}

export interface Case {
  readonly name: string
  readonly title: string
  /** The kind of database. */
  readonly seed: SeedKind
  readonly listener: ListenerName
  readonly status: number
  /** Whether quick runs measure it. */
  readonly main: boolean
  /** Work after the responses, for which the next round waits. `clicks`: one per response. */
  readonly leaves: 'nothing' | 'questions' | 'unindexed records' | 'clicks'
  /** Whether each request deletes a spare record. */
  readonly usesUp: boolean
  /**
   * `full`: each connection sends the next request after a response. `half`: requests are due at even intervals, at half the
   * rate of full pace.
   */
  readonly pace: 'full' | 'half'
  /** The case to compare with in the same rounds. */
  readonly comparedWith?: string
  /** Returns a generator of requests. */
  readonly calls: (stock: Stock) => () => Call
}

/** Defaults of cases. */
export const read = {
  seed: 'domains',
  listener: 'api',
  status: 200,
  main: true,
  leaves: 'nothing',
  usesUp: false,
  pace: 'full',
} as const

export function get({ secret }: { secret: string }, path: string): Call {
  return { ...withKey(secret), method: 'GET', path, form: '' }
}

export function send({ secret }: { secret: string }, method: string, path: string, form: string): Call {
  return { ...withKey(secret), method, path, form }
}

/** Returns the number of a random record. */
export function anyRecord({ records }: Stock): number {
  return 1 + below(records)
}

export function anyOf<T>(list: readonly T[]): T {
  return list[below(list.length)] as T
}

const started = Date.now().toString(36)
let calls = 0

/** Returns a text that is unique across runs. */
export function serial(): string {
  calls += 1
  return `${started}-${calls.toString(36)}`
}
