/** All sources, in the order in which messages name them. */
import type { SourceTable } from './source-table.ts'
import { bitly } from './sources/bitly.ts'
import { csv } from './sources/csv.ts'
import { dub } from './sources/dub.ts'
import { kutt } from './sources/kutt.ts'
import { phpshort } from './sources/phpshort.ts'
import { rebrandly } from './sources/rebrandly.ts'
import { shlink } from './sources/shlink.ts'
import { shortIo } from './sources/short-io.ts'
import { yourls } from './sources/yourls.ts'

export const sourceTables: readonly SourceTable[] = [
  bitly,
  yourls,
  kutt,
  shlink,
  dub,
  rebrandly,
  shortIo,
  phpshort,
  csv,
]
