/** A real storage whose calls fail on demand. */
import type { Storage } from '../src/storage/port.ts'

/** Storage that fails with what `fault` says, as soon as there is something. */
export function failing(fault: () => unknown): (real: Storage) => Storage {
  const orFail =
    <Parameters extends unknown[], Result>(work: (...parameters: Parameters) => Promise<Result>) =>
    async (...parameters: Parameters): Promise<Result> => {
      const error = fault()
      if (error !== undefined) throw error
      return work(...parameters)
    }
  return (real) => ({
    execute: orFail(real.execute.bind(real)) as Storage['execute'],
    write: orFail(real.write.bind(real)) as Storage['write'],
    list: orFail(real.list.bind(real)) as Storage['list'],
    condition: orFail(real.condition.bind(real)),
    start: real.start.bind(real),
    close: real.close.bind(real),
    changesAfter: orFail(real.changesAfter.bind(real)),
    pruneChanges: orFail(real.pruneChanges.bind(real)),
    location: real.location,
    meters: real.meters,
  })
}
