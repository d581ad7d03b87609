import type { Meter } from '../../storage/port.ts'

const names = [
  ['sent_rows', 'Raw clicks that the sink has taken.'],
  ['waiting_batches', 'Batches of raw clicks that wait for the sink.'],
  ['waiting_bytes', 'Bytes of raw clicks that wait for the sink.'],
  [
    'given_up_rows',
    'Raw clicks that never reached the sink, or that it never confirmed: too many waited, the disk lost them, or a day passed.',
  ],
] as const

/** How many things are measured of a sink. */
export const measures = names.length

/** What is measured of a sink, for the operator: sent, waiting, their bytes and given up, which `read` gives by their place. */
export function sinkMeters(read: (at: number) => number): Meter[] {
  return names.map(([name, help], at) => ({ name, help, value: () => read(at) }))
}
