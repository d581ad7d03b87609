/** The parts of `oidc-provider` that tests use. It has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    interactionDetails(...exchange: Parameters<RequestListener>): Promise<{
      readonly prompt: { readonly name: string }
      readonly params: { readonly client_id: string; readonly scope: string }
      readonly session?: { readonly accountId: string }
    }>
    interactionFinished(...given: [...Parameters<RequestListener>, result: object]): Promise<void>
    readonly Grant: new (
      grant: object,
    ) => { addOIDCScope(scope: string): void; save(): Promise<string> }
  }
}
