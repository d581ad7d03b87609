/** What readers make of the files of all services, for the plan. */
import type { LinkDimension } from '../analytics/day.ts'

/** The services whose files are read, and tables with columns of any names. */
export const sources = ['bitly', 'yourls', 'kutt', 'shlink', 'dub', 'rebrandly', 'short_io', 'phpshort', 'csv'] as const
export type Source = (typeof sources)[number]

/** Kinds of data that an import can't store. */
export const lossKinds = [
  'password',
  'created_at',
  'tags',
  'title',
  'notes',
  'rules',
  'tracking',
  'preview_card',
  'cloaking',
  'click_times',
  'orphan_clicks',
] as const
export type LossKind = (typeof lossKinds)[number]

/** An address in a file. */
export interface FileAddress {
  /** With A-labels, in lower case, without port. Null if the row has none: the `*` of `domain_map`. */
  readonly host: string | null
  /** Percent-decoded once, without the first slash and one trailing slash. '' is the root. */
  readonly path: string
}

/** A link of a file, the same for every source. */
export interface FileRow {
  /** The line on which the row starts, from 1. Null if the file has no lines, as in JSON. */
  readonly line: number | null
  /** The main one first. None if the alias is generated. */
  readonly addresses: readonly FileAddress[]
  /** The host for a generated alias, if the row has no addresses. */
  readonly host: string | null
  /**
   * Texts by the API's field names, for the forms of links. Tags have commas between them, times are RFC 3339 in UTC.
   * Contains only fields that the row has. A readable `redirect_password` is plain text: it is hashed before it is stored.
   */
  readonly fields: Readonly<Record<string, string>>
  /** RFC 3339 in UTC. */
  readonly created_at: string | null
  /** All human clicks, null if unknown. Can exceed the sum of the file's `FileClicks`. */
  readonly clicks: number | null
  readonly bots: number | null
  /**
   * Without `click_times` and `orphan_clicks`, which depend on the rest of the file. `password`: the link has one that can't
   * be read, so that it is stored disabled. `fields` doesn't say this, because an update keeps the link's own password.
   */
  readonly losses: readonly LossKind[]
  /** Why the row can't be read. */
  readonly refusal: ReadingError | null
}

/** A stable code, and a sentence for people. */
export interface ReadingError {
  readonly code: 'invalid_time' | 'invalid_count' | 'extra_cells' | 'required' | 'too_many'
  readonly message: string
}

/** The link of clicks. If a row of the file has the reference, its main address counts instead of this address. */
export interface ClickedLink {
  readonly address: FileAddress
  readonly reference: string | null
}

/** Clicks on a link in one hour, or on one day if the hour is unknown. Several with the same time add up. */
export interface FileClicks extends ClickedLink {
  /** The start of the hour, or 00:00 of the day. RFC 3339 in UTC. */
  readonly at: string
  readonly class: 'person' | 'bot'
  readonly count: number
  /** Clicks by value. Those that are missing up to `count` are unknown. Empty for bots. */
  readonly facts: Readonly<Partial<Record<LinkDimension, Readonly<Record<string, number>>>>>
}

/** A column in a table. */
export interface FileColumn {
  /** As the file has it. */
  readonly name: string
  /** Its field (see `columnFields`), '-' if the import skips the column on purpose, null if it skips an unknown column. */
  readonly field: string | null
}

/** The next part of a file. */
export type FileItem =
  | {
      readonly row: FileRow
      /** The key by which clicks refer to the row; null if none do. */
      readonly reference: string | null
      /** The cells of a `csv` file, one per column, '' in columns that are never read. Null for other sources. */
      readonly cells: readonly string[] | null
    }
  | { readonly clicks: FileClicks }
  /** The link of earlier clicks with the reference `page`, which no row has. */
  | { readonly page: string; readonly link: ClickedLink }
