/** The proof of an import: compares what the old service and this server answer at every address. */
import { encodeAlias } from '../names/short-url.ts'
import type { Answer, OldServices, UnreachableReason } from './old-service.ts'

export const proofResults = ['pending', 'same', 'same_location', 'differs', 'unreachable'] as const
export type ProofResult = (typeof proofResults)[number]

interface AddressKey {
  readonly row_id: number
  readonly position: number
}

/** An address of an applied import. */
export interface ProvedAddress extends AddressKey {
  /** The old one. `path` is decoded, without the first slash. */
  readonly host: string
  readonly path: string
  /** The ASCII name of the new domain. */
  readonly domain: string
  readonly alias: string
}

export interface Proof extends AddressKey {
  readonly result: Exclude<ProofResult, 'pending'>
  /** Null if unreachable; `reason` is null otherwise. */
  readonly old: Answer | null
  readonly reason: UnreachableReason | null
  readonly new: Answer
}

/**
 * Returns what this server answers to GET at an alias of a domain, without counting anything: first to people, then to
 * programs, because old services treat them differently: some show programs a preview of a limited link.
 */
export type OwnAnswers = (domain: string, alias: string) => Promise<readonly [people: Answer, programs: Answer]>

/** What a run reads and writes. */
export interface ProofSource {
  /** Groups of pending addresses with the same old host. */
  groups(): AsyncIterable<string>
  /** The next pending addresses of a group; none at the end. */
  next(group: string): Promise<readonly ProvedAddress[]>
  /** Stores a result, so that the address is no longer pending. */
  save(proof: Proof): Promise<void>
}

interface ProofParts {
  readonly services: OldServices
  readonly fingerprint: string
  readonly ownAnswers: OwnAnswers
}

/** Hosts that are asked at the same time. */
const maxHosts = 8

/** Proves all pending addresses. Ends early if the signal aborts: the next run continues. Rejects like the source. */
export async function prove(source: ProofSource, parts: ProofParts, signal: AbortSignal): Promise<void> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const groups = source.groups()
  const workers = Array.from({ length: maxHosts }, async () => {
    try {
      for await (const group of groups) await proveGroup(group, source, parts, either)
    } catch (error) {
      if (!signal.aborted) failed.abort(error)
    }
  })
  await Promise.all(workers)
  failed.signal.throwIfAborted()
}

async function proveGroup(group: string, source: ProofSource, parts: ProofParts, signal: AbortSignal): Promise<void> {
  let page = await source.next(group)
  const service = page[0] && (await parts.services.find(page[0].host, parts.fingerprint, signal))
  while (service !== undefined && page.length > 0) {
    for (const { row_id, position, path, domain, alias } of page) {
      const old = await service.get(encodeAlias(path), signal)
      await source.save({ row_id, position, ...compareAnswers(old, await parts.ownAnswers(domain, alias)) })
    }
    page = await source.next(group)
  }
}

/** Compares the answer of the old service with those of this server. */
export function compareAnswers(
  old: Answer | UnreachableReason,
  own: readonly [people: Answer, programs: Answer],
): Omit<Proof, keyof AddressKey> {
  if (typeof old === 'string') return { result: 'unreachable', old: null, reason: old, new: own[0] }
  const isSame = (answer: Answer) => answer.status === old.status && answer.location === old.location
  const hasLocation = (answer: Answer) => answer.location !== null && answer.location === old.location
  const same = own.find(isSame) ?? own.find(hasLocation)
  const result = same === undefined ? 'differs' : isSame(same) ? 'same' : 'same_location'
  return { result, old, reason: null, new: same ?? own[0] }
}
