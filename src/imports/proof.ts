/** The proof of an import: compares what the old service and this server answer at every address. */
import { pathOf } from '../names/short-url.ts'
import type { Answer, OldServices, UnreachableReason } from './old-service.ts'

export const proofResults = ['pending', 'same', 'same_location', 'differs', 'unreachable'] as const
export type ProofResult = (typeof proofResults)[number]

/** An address of an applied import. */
export interface ProvedAddress {
  readonly id: number
  /** The old one. `path` is decoded, without the first slash. */
  readonly host: string
  readonly path: string
  /** The ASCII name of the new domain. */
  readonly domain: string
  readonly alias: string
}

export interface Proof {
  readonly id: number
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
  /** The old hosts with pending addresses. */
  hosts(): Promise<readonly string[]>
  /** The next pending addresses of a host; none at the end. */
  next(host: string): Promise<readonly ProvedAddress[]>
  /** Stores the results, so that the addresses are no longer pending. */
  save(proofs: readonly Proof[]): Promise<void>
}

interface ProofParts {
  readonly services: OldServices
  readonly fingerprint: string
  readonly ownAnswers: OwnAnswers
}

/** Proves all pending addresses. Rejects if the signal aborts: what is saved stays, and the next run continues. */
export async function prove(source: ProofSource, parts: ProofParts, signal: AbortSignal): Promise<void> {
  const hosts = (await source.hosts()).values()
  const workers = Array.from({ length: maxHosts }, async () => {
    for (const host of hosts) await proveHost(host, source, parts, signal)
  })
  await Promise.all(workers)
}

/** Hosts that are asked at the same time. */
const maxHosts = 8

async function proveHost(host: string, source: ProofSource, parts: ProofParts, signal: AbortSignal): Promise<void> {
  const service = await parts.services.find(host, parts.fingerprint, signal)
  for (let page = await source.next(host); page.length > 0; page = await source.next(host)) {
    const proofs: Proof[] = []
    for (const { id, path, domain, alias } of page) {
      const old = await service.get(pathOf(path), signal)
      proofs.push({ id, ...compareAnswers(old, await parts.ownAnswers(domain, alias)) })
    }
    await source.save(proofs)
  }
}

/** Compares the answer of the old service with those of this server. */
export function compareAnswers(
  old: Answer | UnreachableReason,
  own: readonly [people: Answer, programs: Answer],
): Omit<Proof, 'id'> {
  if (typeof old === 'string') return { result: 'unreachable', old: null, reason: old, new: own[0] }
  const isSame = (answer: Answer) => answer.status === old.status && answer.location === old.location
  const hasLocation = (answer: Answer) => answer.location !== null && answer.location === old.location
  const same = own.find(isSame) ?? own.find(hasLocation)
  const result = same === undefined ? 'differs' : isSame(same) ? 'same' : 'same_location'
  return { result, old, reason: null, new: same ?? own[0] }
}
