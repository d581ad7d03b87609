import type { Handler, Routes } from '../http/router.ts'
import type { Keyring } from '../keys/keyring.ts'
import { guarded } from './authentication.ts'
import { afterBody } from './body.ts'
import { apiPrefix, type Operation } from './operation.ts'

/** The routes of the API's operations: all that a resource is given to add its own, so that none lacks a key and a scope. */
export class OperationRoutes {
  readonly #routes: Routes
  readonly #keyring: Keyring

  constructor(routes: Routes, keyring: Keyring) {
    this.#routes = routes
    this.#keyring = keyring
  }

  /** Has `handler` answer the operations, once the key has been checked and the body that there may be has been read. */
  add(operations: Operation | readonly Operation[], handler: Handler): void {
    for (const { method, path, scope, body } of [operations].flat()) {
      const onceRead = body === undefined ? handler : afterBody(handler)
      this.#routes.add([method], apiPrefix + path, guarded(scope, this.#keyring, onceRead))
    }
  }
}
