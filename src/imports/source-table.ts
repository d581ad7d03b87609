/** How a source names its columns and keys. One table per source is in `sources/`. */
import type { linkFields } from '../links/fields.ts'
import type { LossKind, Source } from './file-row.ts'

/** A name of a column or key, or what its value means. In JSON, dots lead into objects. */
export type Name = string | readonly [name: string, read: (value: unknown) => unknown]

/** The names of each field, the preferred ones first. The first value that is not empty counts. */
export type FieldNames = Readonly<
  Partial<
    Record<
      Exclude<keyof typeof linkFields, 'domain_id' | 'space_id'> | 'host' | 'created_at' | 'clicks' | 'bots',
      readonly Name[]
    > & {
      /** Short URLs. All values are addresses, the first is the main one. Without a value, `host` and `alias` are the address. */
      address: readonly Name[]
    }
  >
>

/** Clicks of an address, in a table of visits or of hours. */
export interface ClickNames {
  readonly time: string
  /** The visited short URL. */
  readonly address?: string
  readonly alias?: string
  /** The key of the link, as in its format's `key`. For JSON also next to the list. */
  readonly key?: readonly string[]
  readonly country?: string
  readonly referrer?: string
  readonly userAgent?: string
  /** Whether it is a bot. By default, the user agent decides. */
  readonly bot?: string
  /** For hours: the number of clicks, and the columns with numbers by value. */
  readonly total?: string
  readonly browsers?: Readonly<Record<string, string>>
  readonly operatingSystems?: Readonly<Record<string, string>>
  /** JSON objects with numbers by value. */
  readonly countries?: string
  readonly referrers?: string
}

/** A kind of file, or of table in a file. */
export interface Format {
  readonly kind: 'csv' | 'json' | 'sql'
  /** For JSON: the path of the list with the records. '': they are in the outermost list, or on their own. */
  readonly list?: string
  /** Names that it always has. Bars separate alternatives. */
  readonly requires: readonly string[]
  /** The zone of times without an offset, if the source defines it. */
  readonly timeZone?: 'UTC'
  /** The columns that clicks or links of another table use to refer to a row. */
  readonly key?: readonly string[]
  /** The column that refers to a table of hosts. */
  readonly hostKey?: string
  /** Set for clicks. */
  readonly clicks?: ClickNames
  /** The column with the host, in a table of hosts with a `key`. */
  readonly hosts?: string
}

export interface SourceTable {
  readonly source: Source
  /** Whether aliases that differ only in case are different ones. */
  readonly isCaseSensitive: boolean
  readonly formats: readonly Format[]
  readonly fields: FieldNames
  /** Names whose values mean that something is lost. */
  readonly losses?: Readonly<Partial<Record<LossKind, readonly string[]>>>
  /** Separates the tags of a cell; a comma by default. */
  readonly tagSeparator?: string
}
