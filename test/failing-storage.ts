/** A real storage with some methods replaced, so that calls fail on demand. */
import type { Storage } from '../src/storage/port.ts'

/** Returns the storage with other methods. Its own methods stay bound to it. */
export function withMethods(real: Storage, methods: Partial<Storage>): Storage {
  return new Proxy(real, {
    get: (_, name) => {
      const value = methods[name as keyof Storage] ?? real[name as keyof Storage]
      return typeof value === 'function' && !(name in methods) ? value.bind(real) : value
    },
  })
}

const fallible = [
  'execute',
  'write',
  'list',
  'scan',
  'condition',
  'changesAfter',
  'eventHorizon',
  'pruneChanges',
] as const

/** Returns storage that fails with the error that `fault` returns, unless it returns undefined. */
export function failing(fault: () => unknown): (real: Storage) => Storage {
  return (real) => {
    const methods = fallible.map((name) => {
      const work = real[name].bind(real) as (...parameters: unknown[]) => Promise<unknown>
      const orFail = async (...parameters: unknown[]) => {
        const error = fault()
        if (error !== undefined) throw error
        return work(...parameters)
      }
      return [name, orFail]
    })
    return withMethods(real, Object.fromEntries(methods))
  }
}
