import type { Db } from '../storage/port.ts'
import { selectDue } from './statements.ts'
import type { Bounds } from './writer.ts'

/** Whether any upkeep is due: something is older than the bounds, has moved, or is gone. */
export async function isUpkeepDue(db: Db, bounds: Bounds): Promise<boolean> {
  return (await db.all(selectDue, { ...bounds })).length > 0
}
