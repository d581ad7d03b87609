/**
 * Deletes what must not be kept: visitors and salts of days that are over, days beyond the retention, and the days of links,
 * domains and spaces that are gone. In transactions that hold up no other for long.
 */
import type { ClickConnection } from './tables.ts'
import { turnOfOthers } from './turns.ts'

/** Deletes the visitors and salts of days before `day`, also from where the engine keeps what was deleted. */
export async function forgetVisitors(connection: ClickConnection, day: number): Promise<void> {
  while (await connection.write((tables) => tables.deleteVisitors(day))) await turnOfOthers()
  // Salts are deleted last: as long as they are there, the next sweep tries again what failed.
  if (await connection.write((tables) => tables.blankSalts(day))) await connection.scrub()
  await connection.write((tables) => tables.deleteSalts(day))
}

/** Deletes the facts of days before `day`. Totals stay. */
export async function forgetDays(connection: ClickConnection, day: number): Promise<void> {
  while (await connection.write((tables) => tables.deleteDaysBefore(day))) await turnOfOthers()
}

/** Deletes the days of links, domains and spaces that are gone. */
export async function clearRemoved(connection: ClickConnection): Promise<void> {
  for (;;) {
    const removed = await connection.write((tables) => tables.nextRemovals())
    if (removed === undefined) return
    const { scope, ids } = removed
    for (const day of await connection.write((tables) => tables.daysOf(scope))) {
      await connection.write((tables) => tables.deleteDays(scope, day, ids))
      await turnOfOthers()
    }
    await connection.write((tables) => tables.endRemovals(scope, ids))
  }
}
