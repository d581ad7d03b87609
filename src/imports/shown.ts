/** Imports and their rows as the API shows them. */
import { hash } from 'node:crypto'
import type { ShortUrl } from '../names/short-url.ts'
import { shortUrls } from '../names/short-url.ts'
import type { Versioned } from '../storage/records.ts'
import { type ProofResult, proofResults } from './proof.ts'
import type { Import, ImportRow } from './schema.ts'
import type { ListedRow } from './staging/store.ts'
import { hasStored, type StoredImport, undoUntil } from './store.ts'

/** Counts of results before a proof. */
export const noProofs = Object.fromEntries(proofResults.map((each) => [each, 0])) as Record<ProofResult, number>

/** Returns the record of an import. `proved` counts addresses by result. */
export function importRecord(stored: StoredImport, proved: Readonly<Record<ProofResult, number>> = noProofs): Import {
  const { id, source, state, summary, error, applied_at, created_at, updated_at } = stored
  const { outcomes, losses, unmapped_hosts, ...figures } = summary
  // Addresses are marked as pending in steps, so the results that are there are subtracted.
  const left = proofResults.reduce((left, each) => left - (each === 'pending' ? 0 : proved[each]), figures.provable)
  // Figures of earlier versions lack the addresses that links had before.
  const pending = Math.max(0, left)
  return {
    ...{ id, source, state, rows: figures.rows, outcomes },
    ...{ exact: figures.exact, case_insensitive: figures.case_insensitive, new_tags: figures.new_tags },
    ...{ clicks: figures.clicks, click_days: figures.click_days, losses: [...losses] },
    unmapped_hosts: unmapped_hosts.map(({ host }) => host || '*'),
    ...{ first_link_at: figures.first_link_at, last_link_at: figures.last_link_at },
    proof: { ...proved, pending },
    progress: readProgress(stored),
    ...{ error, applied_at, undo_until: hasStored(stored) ? undoUntil(stored) : null, created_at, updated_at },
  } as Import
}

/** Returns how far the job of an import is, or its proof if there is no other; null if none runs. */
function readProgress({ job, proof }: StoredImport): Import['progress'] {
  const running = job === null || job.kind === 'deletion' ? proof : job
  return running && { done: running.done, total: running.total }
}

/** Returns a record with a version that changes with everything shown. */
export function versionedImport(record: Import): Versioned<Import> {
  return { record, version: hash('sha1', JSON.stringify(record), 'base64url') }
}

const oldUrl = shortUrls('https://{domain}')

/** Returns the record of a row. */
export function rowRecord({ id, line, content, addresses, decision }: ListedRow, shortUrl: ShortUrl): ImportRow {
  const { outcome, code, message, linkId, losses, warnings } = decision
  return {
    ...{ id, line, outcome, code, message, link_id: linkId, url: content.fields.url || null },
    addresses: addresses.map((address) => {
      const { host, path, domainName: name, alias, result } = address
      return {
        old_url: oldUrl(host || name || '*', path),
        short_url: name === null || alias === null ? null : shortUrl(name, alias),
        exact: address.exact,
        proof: result && {
          result,
          old: { status: address.old_status, location: address.old_location },
          new: { status: address.new_status, location: address.new_location },
        },
      }
    }),
    losses: [...losses],
    ...(warnings.length > 0 && { warnings }),
  }
}
