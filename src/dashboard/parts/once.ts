import { randomUUID } from 'node:crypto'
import type { Html } from '../../http/html.ts'
import { hiddenFields } from './buttons.ts'

/** Stands in each form whose work must be done once: what is pressed twice does it once. See `submissions.ts`. */
export function onceField(): Html {
  return hiddenFields({ once: randomUUID() })
}
