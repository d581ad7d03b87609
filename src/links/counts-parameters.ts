/** Domains or spaces as parameters of a statement, which takes a fixed number of them. Pure. */

/** As many as the longest page of a list has. */
export const ownersAtOnce = 100

/** Links are counted no further than this, which stands for all that is more: the rows of a page then take a few milliseconds. */
export const countedAtMost = 1_001

/** `owner0`, `owner1` and so on. */
export type Owners = Readonly<Record<`owner${number}`, number>>

/** None that is stored. */
const noOwner = -1

/** The parameters for at most `ownersAtOnce` ids. */
export function ownerParametersOf(ids: readonly number[]): Owners {
  return Object.fromEntries(Array.from({ length: ownersAtOnce }, (_, n) => [`owner${n}`, ids[n] ?? noOwner]))
}

/** The values of the parameters. */
export function ownersIn(parameters: Owners): number[] {
  return Array.from({ length: ownersAtOnce }, (_, n) => parameters[`owner${n}`] as number)
}
