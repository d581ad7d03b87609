import type { Case } from './case.ts'
import { domainCases } from './domain-cases.ts'
import { linkCases } from './link-cases.ts'
import { visitCases } from './visit-cases.ts'

export const cases: readonly Case[] = [...domainCases, ...linkCases, ...visitCases]

/** Returns the cases that `only` names; without `only`, the main cases or all. Returns null for an unknown name. */
export function chosenCases(only: readonly string[] | null, quick: boolean): readonly Case[] | null {
  if (only === null) return cases.filter(({ main }) => main || !quick)
  const isNamed = (name: string, wanted: string) => name === wanted || name.startsWith(`${wanted}-`)
  if (!only.every((wanted) => cases.some(({ name }) => isNamed(name, wanted)))) return null
  return cases.filter(({ name }) => only.some((wanted) => isNamed(name, wanted)))
}

/** Groups cases that are measured in the same rounds. */
export function groupsOf(chosen: readonly Case[]): Case[][] {
  return Map.groupBy(chosen, ({ name, comparedWith }) => comparedWith ?? name)
    .values()
    .toArray()
}
