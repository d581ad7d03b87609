/** An answer of success, complete. */
export interface Report {
  readonly contentType: string
  readonly body: string
}
