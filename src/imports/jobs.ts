/** The work on imports, in a thread of the server or on the connection of a command. */
import type { Actor } from '../access/actor.ts'
import type { Lease as JobLease } from '../jobs/store.ts'
import type { AppliedRow } from '../links/actions.ts'
import type { LinkRules } from '../links/link-violations.ts'
import type { Db } from '../storage/port.ts'
import { applyImport, checkImport } from './apply.ts'
import { type OnProgress, type PlanRequest, planImport, replanImport } from './plan.ts'
import type { ImportOptions } from './schema.ts'
import type { Lease, StoredImport } from './store.ts'

/** A file: only commands read it while it is planned. */
export type FileBytes = Uint8Array | AsyncIterable<Uint8Array>

/** A job, whose result is the id of the import. `lease` is held by whoever starts the job. */
export type ImportJob =
  | { readonly kind: 'plan'; readonly request: PlanRequest; readonly file: FileBytes; readonly lease: JobLease }
  | {
      readonly kind: 'replan'
      readonly actor: Actor
      readonly planned: StoredImport
      readonly options: ImportOptions
      readonly lease: Lease
    }
  | { readonly kind: 'check'; readonly actor: Actor; readonly planned: StoredImport }
  | { readonly kind: 'apply'; readonly actor: Actor; readonly planned: StoredImport; readonly lease: Lease }

/** Runs a job. */
export type RunImportJob = (job: ImportJob) => Promise<number>

interface JobParts {
  readonly rules: LinkRules
  readonly onApplied: (rows: readonly AppliedRow[]) => void
  readonly onProgress?: OnProgress
}

/** Runs a job on a connection. */
export async function runImportJob(db: Db, job: ImportJob, parts: JobParts): Promise<number> {
  const { rules, onProgress } = parts
  if (job.kind === 'plan') return planImport(db, job.request, chunksOf(job.file), rules, job.lease, onProgress)
  const { actor, planned } = job
  if (job.kind === 'replan') await replanImport(db, actor, planned, job.options, job.lease, rules)
  else if (job.kind === 'check') await checkImport(db, actor, planned, rules)
  else await applyImport(db, actor, planned, job.lease, parts)
  return planned.id
}

const chunkBytes = 64 * 1024

async function* chunksOf(file: FileBytes): AsyncGenerator<Uint8Array> {
  if (!(file instanceof Uint8Array)) return yield* file
  for (let at = 0; at < file.length; at += chunkBytes) yield file.subarray(at, at + chunkBytes)
}
