/** W3C Trace Context (https://www.w3.org/TR/trace-context/): which trace a request says that it belongs to. */
export interface Trace {
  /** 32 digits of lower-case hex. */
  readonly traceId: string
  /** The sender's span: 16 digits of lower-case hex. */
  readonly spanId: string
}

/**
 * §3.2.2: version, trace id, parent id, flags; the ids are not all zero, and version 00 has nothing more (55 characters).
 * §4: of a higher version the same four are read, and what follows after another hyphen is left alone; ff is no version.
 */
const form = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-|$)/

/** The trace that a `traceparent` header names; null when there is none, or it is not valid to the letter. */
export function traceOf(header: string | string[] | undefined): Trace | null {
  const [, traceId, spanId] = (typeof header === 'string' && form.exec(header)) || []
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId }
}
