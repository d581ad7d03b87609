/** Violations of fields. Their messages are in the catalog `refusal-messages.ts`. */
import { messages } from './refusal-messages.ts'

export type MessageKey = keyof typeof messages
export type ViolationCode = MessageKey extends infer Key ? (Key extends `${infer Code}.${string}` ? Code : Key) : never
/** The codes with a message that has this word after the code. */
export type CodeWith<Word extends string> = {
  [Key in MessageKey]: Key extends `${infer Code}.${Word}` ? Code : never
}[MessageKey]

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
/** The names of the parameters in a message. */
export type ParamsIn<Message> = Message extends readonly string[]
  ? Exclude<NamesIn<Message[number]>, 'field' | 'label' | 'program'>
  : NamesIn<Message>
/** A list has names of fields, which are options in commands. */
type Value = string | number | readonly string[]
type Values = Readonly<Record<string, Value>>
/** The parameters of a message by name; none if it has none. */
type ParamsOf<Key extends MessageKey> = [ParamsIn<(typeof messages)[Key]>] extends [never]
  ? []
  : [params: Readonly<Record<ParamsIn<(typeof messages)[Key]>, Value>>]

/** An invalid field, with a stable code. `message` is the sentence for the API. */
export interface Violation {
  readonly field: string
  readonly code: ViolationCode
  readonly message: string
  readonly refusal: Refusal
}

/** The result of a rule for an invalid value: a key of the catalog, and the parameters of the message. */
export class Refusal<Key extends MessageKey = MessageKey> {
  readonly key: MessageKey
  readonly params: Values

  constructor(key: Key, ...[params]: ParamsOf<Key>) {
    this.key = key
    this.params = params ?? {}
  }

  get code(): ViolationCode {
    return this.key.split('.', 1)[0] as ViolationCode
  }

  /** Returns the violation of the field with this name in the API. */
  at(field: string): Violation {
    const [text = ''] = [messages[this.key]].flat()
    return { field, code: this.code, message: fill(text, { ...this.params, field }), refusal: this }
  }

  /** Returns the violations of the field. */
  allAt(field: string): Violation[] {
    return [this.at(field)]
  }

  /** Returns the sentence for a command. `nameField` returns the option of a field, and `program` starts commands. */
  forCommand(field: string, nameField: (field: string) => string, program: string): string {
    const [forApi = '', , text = forApi] = [messages[this.key]].flat()
    const nameAll = (value: Value) => (typeof value === 'object' ? value.map(nameField) : value)
    const params = Object.entries(this.params).map(([name, value]) => [name, nameAll(value)] as const)
    return fill(text, { ...Object.fromEntries(params), program, field: nameField(field) })
  }

  /** Returns the sentence for the form control with this label, or for a value that no control shows. */
  forForm(label: string | null): string {
    const [forApi = '', text = forApi] = [messages[this.key]].flat()
    const unnamed = text.startsWith('{label}') ? 'This entry' : 'this entry'
    return fill(text, { ...this.params, label: label === null ? unnamed : `“${label}”` }, formatValue)
  }
}

/** The refusals of parts of a value, with their places in it, such as `2.url`. */
export class PartRefusals extends Refusal {
  readonly #parts: readonly (readonly [place: string, refusal: Refusal])[]

  /** There is at least one part. */
  constructor(parts: readonly (readonly [place: string, refusal: Refusal])[]) {
    const [[, { key, params }]] = parts as [[string, Refusal]]
    super(key, ...([params] as [never]))
    this.#parts = parts
  }

  override allAt(field: string): Violation[] {
    return this.#parts.flatMap(([place, refusal]) => refusal.allAt(`${field}.${place}`))
  }
}

/** Returns a message with values in place of the names of its parameters. */
export function fill(text: string, values: Values, format: (value: string | number) => string = String): string {
  const formatAll = (value: Value) => (typeof value === 'object' ? value.join(' and ') : format(value))
  return text.replace(/\{(\w+)\}/g, (_, name: string) => formatAll(values[name] ?? ''))
}

const numbers = new Intl.NumberFormat('en-US')

function formatValue(value: string | number): string {
  return typeof value === 'number' ? numbers.format(value) : value
}
