import type { Breakdown, Value } from './day-facts.ts'

/** Used again and again: sorting took half of what there was to collect. */
const sorted = { values: [] as Value[], people: [] as number[] }

/**
 * The most frequent first, and not as they came: from their order one could tell which values are of the same visit. They are
 * put in one by one, since most are in order already, as they were read. The lists are those of the next call, too: only their
 * first ones, as many as the breakdown has, are its own.
 */
export function inOrder(breakdown: Breakdown): Readonly<typeof sorted> {
  const { values, people } = sorted
  let size = 0
  breakdown.forEach((number, value) => {
    let at = size++
    for (; at > 0 && comesBefore(value, number, values[at - 1] as Value, people[at - 1] as number); at--) {
      values[at] = values[at - 1] as Value
      people[at] = people[at - 1] as number
    }
    values[at] = value
    people[at] = number
  })
  return sorted
}

function comesBefore(value: Value, people: number, rival: Value, others: number): boolean {
  return people > others || (people === others && String(value) < String(rival))
}
