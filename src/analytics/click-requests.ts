/** The messages of the click writer thread: its options, requests and reports. */
import type { Author } from '../events/log.ts'
import type { StorageLocation } from '../storage/port.ts'
import type { CountryFileReport } from './capture/countries.ts'
import type { Visit } from './capture/visit.ts'
import type { Bounds } from './maintenance.ts'
import type { SinkConfig } from './sink/open.ts'

export interface ClickWorkerData {
  readonly location: StorageLocation
  /** The operator's country database; null for the bundled one. */
  readonly geoipDb: string | null
  /** Where raw clicks are sent; null for nowhere. */
  readonly clicksSink: SinkConfig | null
  /** Identifies this process, whichever of its threads writes. */
  readonly process: string
}

/** The response is false if the batch was stored before, the click limit is reached, or there is no such link. */
export type ClickRequest =
  | { readonly work: 'start' }
  | { readonly work: 'write'; readonly batch: number; readonly visits: readonly Visit[] }
  | { readonly work: 'take'; readonly visit: Visit }
  | { readonly work: 'delete'; readonly author: Author; readonly link: number }
  | { readonly work: 'maintain'; readonly bounds: Bounds }
  | { readonly work: 'erase' }
  | { readonly work: 'stop' }

export type ClickNotice =
  | { readonly kind: 'countries'; readonly bytes: SharedArrayBuffer }
  | { readonly kind: 'country file'; readonly report: CountryFileReport }
  | { readonly kind: 'sink meters'; readonly values: readonly number[] }
  | {
      readonly kind: 'sink problem'
      readonly error: string
      readonly message: string
      readonly level: 'warn' | 'error'
    }
