/** A larger group is split: the rest is served sooner by other connections. */
const maxTogether = 32

/** Collects what one turn of the event loop asks for, and hands it on when the turn ends. */
export class Turn<Item> {
  readonly #onEnd: (items: Item[]) => void
  #items: Item[] = []

  /** `onEnd` gets 32 items at most, and is called as often as that takes. */
  constructor(onEnd: (items: Item[]) => void) {
    this.#onEnd = onEnd
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) setImmediate(() => this.#end())
  }

  #end(): void {
    const items = this.#items
    this.#items = []
    for (let from = 0; from < items.length; from += maxTogether) this.#onEnd(items.slice(from, from + maxTogether))
  }
}
