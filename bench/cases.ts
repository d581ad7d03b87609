/**
 * What is measured: for each case the requests that are sent, and the one status that every answer must have.
 */
import type { Case } from './case.ts'
import { domainCases } from './domain-cases.ts'
import { linkCases } from './link-cases.ts'
import { visitCases } from './visit-cases.ts'

export const cases: readonly Case[] = [...domainCases, ...linkCases, ...visitCases]

/** The cases of a run: those that `only` names, else the main ones or all. Null when a name is unknown. */
export function chosenCases(only: readonly string[] | null, quick: boolean): readonly Case[] | null {
  if (only === null) return cases.filter(({ main }) => main || !quick)
  const isNamed = (name: string, wanted: string) => name === wanted || name.startsWith(`${wanted}-`)
  if (!only.every((wanted) => cases.some(({ name }) => isNamed(name, wanted)))) return null
  return cases.filter(({ name }) => only.some((wanted) => isNamed(name, wanted)))
}

/** Cases that are measured in the same rounds stand together. */
export function groupsOf(chosen: readonly Case[]): Case[][] {
  return Map.groupBy(chosen, ({ name, beside }) => beside ?? name)
    .values()
    .toArray()
}
