/** Requests to the provider of OpenID Connect. */

import { describeUntrusted, isUntrusted } from '../../lib/tls-errors.ts'

/** The maximum size of a response, after decompression. */
const maxBytes = 1024 * 1024

/** The provider doesn't respond, or its response is invalid. The message contains no text of the provider. */
export class ProviderUnavailable extends Error {}

/** Returns a `fetch` whose responses are bounded in size and time, and that follows no redirect. Throws `ProviderUnavailable`. */
export function providerFetch({ isInsecure, timeoutMs }: { isInsecure: boolean; timeoutMs: number }) {
  return async (url: string, request: object): Promise<Response> => {
    if (!(isInsecure || url.startsWith('https:'))) throw new ProviderUnavailable('an endpoint has no https URL')
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await fetch(url, { ...request, redirect: 'manual', signal })
      return new Response(await readBounded(response), { status: answeredStatus(response), headers: response.headers })
    } catch (error) {
      throw error instanceof ProviderUnavailable ? error : new ProviderUnavailable(describeError(error as Error))
    }
  }
}

/** Returns the status if the provider has answered the request, even with an error. */
function answeredStatus({ status }: Response): number {
  if (status === 200 || (status >= 400 && status < 500)) return status
  throw new ProviderUnavailable(`status ${status}${status < 400 ? ', and redirects are not followed' : ''}`)
}

/** Names a failed connection by its code, such as `ECONNREFUSED`. */
function describeError({ name, message, cause }: Error): string {
  if (name === 'TimeoutError') return 'no response in time'
  if (isUntrusted(cause)) return describeUntrusted(cause as Error)
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  return (code === 'ENOTFOUND' || code === 'EAI_AGAIN' ? `its host was not found (${code})` : code) ?? message
}

async function readBounded({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    // Leaving the loop cancels the rest.
    if (length > maxBytes) throw new ProviderUnavailable('a response is larger than 1 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
