/**
 * What a case is, and what its requests are made of.
 */
import { type Call, withKey } from './call.ts'
import { below } from './records.ts'
import type { Seed, SeedKind } from './seed.ts'
import type { ListenerName } from './servers.ts'

/** A prepared database while it is measured. */
export interface Stock extends Seed {
  /** Ids of domains that a case may use up. */
  readonly spare: number[]
}

export interface Case {
  readonly name: string
  readonly title: string
  /** The databases that it is measured on. */
  readonly seed: SeedKind
  readonly listener: ListenerName
  readonly status: number
  /** Measured in a quick run too. */
  readonly main: boolean
  /**
   * What a round leaves behind, which the next one waits for: questions that wait for a thread, records that the search
   * index does not hold yet, or clicks that are not written yet: one for each answer.
   */
  readonly leaves: 'nothing' | 'questions' | 'unindexed records' | 'clicks'
  /** Whether each request takes one of the spare records. */
  readonly usesUp: boolean
  /**
   * `full`: the next request when the last is answered. `half`: half as many requests a second as each round sees at full
   * pace, whether the last ones are answered or not.
   */
  readonly pace: 'full' | 'half'
  /** The case that it is compared with, in the same rounds. */
  readonly beside?: string
  /** Makes the requests, each of them another where that matters. */
  readonly calls: (stock: Stock) => () => Call
}

/** What most cases are like. */
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

/** The number of any record of the database's kind. */
export function anyRecord({ records }: Stock): number {
  return 1 + below(records)
}

export function anyOf<T>(list: readonly T[]): T {
  return list[below(list.length)] as T
}

const started = Date.now().toString(36)
let calls = 0

/** Never the same twice, in other runs neither. */
export function serial(): string {
  calls += 1
  return `${started}-${calls.toString(36)}`
}
