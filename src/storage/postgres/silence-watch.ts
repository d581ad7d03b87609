/** How often it is looked whether anything was answered. Milliseconds. */
const lookEveryMs = 250
/** So many looks in a row without an answer are a silence. */
const looksBeforeProbe = 3

/**
 * Notices a server that is gone without a word, such as one whose machine lost its power or network: its connections do
 * not break, they only say no more. When something has been asked and nothing at all answered for a while, the server is
 * probed; if that fails, `onGone` is called.
 */
export class SilenceWatch {
  readonly #probe: () => Promise<void>
  readonly #onGone: () => void
  readonly #timer: NodeJS.Timeout
  #waiting = 0
  #answers = 0
  #answersSeen = 0
  #looks = 0

  constructor(probe: () => Promise<void>, onGone: () => void) {
    this.#probe = probe
    this.#onGone = onGone
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref()
  }

  asked(): void {
    this.#waiting += 1
  }

  answered(): void {
    this.#waiting -= 1
    this.#answers += 1
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const isSilent = this.#waiting > 0 && this.#answers === this.#answersSeen
    this.#answersSeen = this.#answers
    this.#looks = isSilent ? this.#looks + 1 : 0
    // A probe in time is an answer too: the next follows after as many looks again.
    if (this.#looks % looksBeforeProbe !== 0 || this.#looks === 0) return
    this.#probe().catch(() => this.#onGone())
  }
}
