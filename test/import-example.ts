/** Files of a source with the rows that they have. */
import type { FileRow, Source } from '../src/imports/file-row.ts'
import type { ReadingOptions } from '../src/imports/reading.ts'

/** What a row differs in from one without anything but an address on sip.example, a URL and a time. */
type Expected = Partial<Omit<FileRow, 'addresses'>> & { readonly addresses?: readonly string[] }

export interface ImportExample {
  readonly title: string
  readonly source: Source
  readonly file: string
  readonly options?: Partial<ReadingOptions>
  readonly rows: readonly Expected[]
}

export const exampleUrl = 'https://tea.example/'
export const createdAt = '2025-03-09T07:15:00.000Z'
