/** Finds the source whose names a file has. */
import { type Failure, validationFailed } from '../errors.ts'
import { Refusal } from '../violations.ts'
import { namesIn } from './csv-columns.ts'
import type { Format, SourceTable } from './source-table.ts'
import { csv } from './sources/csv.ts'

export interface Found {
  readonly table: SourceTable
  readonly format: Format
}

/** Returns the only format that matches; null if there is none. `csv` counts only if no other does. Throws `ambiguous_format`. */
export function findFormat(tables: readonly SourceTable[], matches: (format: Format) => boolean): Found | null {
  const found = tables.flatMap((table) => {
    const format = table.formats.find(matches)
    return format === undefined ? [] : [{ table, format }]
  })
  const services = found.filter(({ table }) => table !== csv)
  if (services.length > 1) throw ambiguousFormat(services.map(({ table }) => table))
  return services[0] ?? found[0] ?? null
}

/** Returns whether a file has all names. Bars separate alternatives. */
export function hasAll(requires: readonly string[], has: (name: string) => boolean): boolean {
  return requires.every((names) => names.split('|').some(has))
}

export function ambiguousFormat(tables: readonly SourceTable[]): Failure {
  const formats = tables.map(({ source }) => source).join(' and ')
  return validationFailed([new Refusal('ambiguous_format', { formats }).at('source')])
}

export function unknownFormat(names: readonly string[]): Failure {
  return validationFailed([new Refusal('unknown_format', { seen: namesIn(names) }).at('source')])
}

/** Returns the failure of a file without rows. */
export function missingRows(): Failure {
  return validationFailed([new Refusal('required.rows').at('body')])
}
