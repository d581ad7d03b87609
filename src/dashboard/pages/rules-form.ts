/** The rules of a link in its form: sentences with controls. Buttons add, move and remove parts without saving. */

import { type IconName, icon } from '../../frame/icons.ts'
import { type Fields, readText } from '../../http/form-encoding.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { linkLabels } from '../../links/schema.ts'
import { conditionNames, conditions } from '../../rules/conditions.ts'
import { maxRules, maxVariants } from '../../rules/form.ts'
import type { ConditionName, RedirectRule } from '../../rules/rule.ts'
import { listedValue, type Parameters, queryParts, readQueryPart } from '../../rules/words.ts'
import { namesIn } from '../choices.ts'
import { attributes } from '../parts/buttons.ts'
import {
  checkboxGroup,
  collapsibleSection,
  type Field,
  FormState,
  selectField,
  sharedError,
  suggestionList,
  textField,
} from '../parts/fields.ts'
import { truncateMiddle } from '../parts/links.ts'
import { readListedValue, suggestedValues } from '../parts/rules.ts'
import { timeField, timeValues, withUtcTimes } from '../parts/time-zones.ts'

/** The most fields of a form: 45 for each of 20 rules with all conditions and 10 destinations, and about 40 others. */
export const maxFormFields = 1_000

/** The controls of a rule as people have completed them, by their names without `rules.2.`. */
interface Draft {
  readonly controls: Record<string, string>
  /** The controls of variants; empty for a single destination. */
  readonly variants: Record<string, string>[]
}

/** `exact_` is the prefix of the exact times of time controls. */
const controlName = /^(exact_)?rules\.(0|[1-9]\d?)\.(?:urls\.(0|[1-9]\d?)\.)?(\w.*)$/s

/** Separates the rules in a form from its other fields. One rule and one variant too many are read, for their errors. */
function splitForm(form: Fields): { readonly drafts: Draft[]; readonly others: Fields } {
  const drafts: Draft[] = []
  const others: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(form)) {
    const [, exact = '', rule, variant, control = ''] = controlName.exec(name) ?? []
    const isWithin = Number(rule) <= maxRules && (variant === undefined || Number(variant) <= maxVariants)
    if (typeof value !== 'string' || !isWithin) {
      others[name] = value
      continue
    }
    while (drafts.length <= Number(rule)) drafts.push({ controls: {}, variants: [] })
    const { controls, variants } = drafts[Number(rule)] as Draft
    while (variants.length <= Number(variant)) variants.push({})
    const target = variant === undefined ? controls : (variants[Number(variant)] as Record<string, string>)
    target[exact + control] = value
  }
  for (const { controls } of drafts) addChosenCondition(controls)
  return { drafts, others }
}

/** Adds the chosen condition, even if another button was pressed: without it, the rule would match everyone. */
function addChosenCondition(controls: Record<string, string>): void {
  const name = conditionNames.find((each) => each === controls[chosen])
  if (name !== undefined) controls[name] ??= ''
  delete controls[chosen]
}

/** The control that offers the missing conditions. */
const chosen = 'condition'

/** Returns the form with these rules. */
function joinForm(drafts: readonly Draft[], others: Fields = {}): Fields {
  const fields: Record<string, unknown> = { ...others }
  for (const [at, { controls, variants }] of drafts.entries()) {
    for (const [name, value] of Object.entries(controls)) {
      const [, exact = '', control] = /^(exact_)?(.*)$/s.exec(name) ?? []
      fields[`${exact}rules.${at}.${control}`] = value
    }
    for (const [index, variant] of variants.entries()) {
      for (const [name, value] of Object.entries(variant)) fields[`rules.${at}.urls.${index}.${name}`] = value
    }
  }
  return fields
}

/** Returns the form's values for the rules of a link. Times are in this zone. */
export function ruleValues(rules: readonly RedirectRule[], zone: string): Fields {
  return joinForm(
    rules.map((rule): Draft => {
      const controls: Record<string, string> = { name: rule.name }
      for (const name of conditionNames) {
        if (rule[name] !== undefined) Object.assign(controls, conditionControls(name, rule[name], zone))
      }
      if (rule.url !== undefined) controls.url = rule.url
      return { controls, variants: (rule.urls ?? []).map(({ url, weight }) => ({ url, weight: String(weight) })) }
    }),
  )
}

function conditionControls(name: ConditionName, value: unknown, zone: string): Fields {
  switch (conditions[name].control) {
    case 'list':
      return { [name]: (value as string[]).map((each) => shownInList(name, each)).join(', ') }
    case 'choices':
      return Object.fromEntries([[name, ''], ...(value as string[]).map((each) => [`${name}.${each}`, 'true'])])
    case 'query':
      return { [name]: queryParts(value as Parameters).join(', ') }
    case 'time':
      return timeValues(name, String(value), zone)
    case 'hours':
      return { [name]: String(value) }
  }
}

/** Returns the text of a value that is read back as the same value. */
function shownInList(name: ConditionName, value: string): string {
  const text = listedValue(name, value)
  return readListedValue(name, text) === value ? text : value
}

/** Returns the API fields of a form: the JSON of its rules instead of their controls. */
export function withRules(form: Fields, zone: string): Fields {
  const { drafts, others } = splitForm(form)
  if (drafts.length === 0) return others
  return { ...others, rules: JSON.stringify(drafts.map((draft) => ruleOf(draft, zone))) }
}

const timeNames = conditionNames.filter((name) => conditions[name].control === 'time')

/** Returns a rule as the API has it, with the members in the order of records. */
function ruleOf({ controls, variants }: Draft, zone: string): object {
  const { name, url, ...others }: Record<string, unknown> = withUtcTimes(controls, timeNames, zone)
  const values: Record<string, unknown> = {}
  for (const condition of conditionNames) {
    const text = others[condition]
    if (typeof text === 'string') values[condition] = conditionValue(condition, text, others)
    delete others[condition]
  }
  // As a number, a weight takes fewer bytes of the JSON.
  const urls = variants.map(({ weight = '', ...variant }) => ({
    ...variant,
    weight: /^\d{1,3}$/.test(weight) ? Number(weight) : weight,
  }))
  return { name, ...values, url, ...(urls.length > 0 && { urls }), ...others }
}

/** Returns the value of a condition from its controls. Removes the controls of single choices. */
function conditionValue(name: ConditionName, text: string, controls: Record<string, unknown>): unknown {
  const { control, options } = conditions[name]
  switch (control) {
    case 'list':
      return readAll(text, (part) => readListedValue(name, part))
    case 'choices':
      return (options ?? []).filter((option) => {
        const value = controls[`${name}.${option}`]
        delete controls[`${name}.${option}`]
        return value === 'true'
      })
    case 'query':
      return Object.fromEntries(readAll(text.replaceAll('&', ','), readQueryPart))
    case 'hours':
      return text
        .replace(/\s/g, '')
        .replace('–', '-')
        .replace(/(?<!\d)\d:/g, '0$&')
    case 'time':
      return text
  }
}

/** More parts than any condition can have, of which only some are read, because a form could have a hundred thousand. */
const maxParts = 300

function readAll<Value>(text: string, read: (part: string) => Value): Value[] {
  return namesIn(text).slice(0, maxParts).map(read)
}

/** Returns the form after a button of its rules has changed it; null for another button. */
export function editedRules(form: Fields): FormState | null {
  const { edit_rules: pressed, ...fields } = form
  if (pressed === undefined) return null
  const { drafts, others } = splitForm(fields)
  const [verb = '', at, part = ''] = readText(pressed).split('.')
  const added = verb === 'add_condition' ? readText(form[`rules.${at}.${chosen}`]) : part
  const focus = edit(drafts, verb, Number(at), added) ?? addRule
  return new FormState(joinForm(drafts, others), [], focus)
}

const addRule = 'add'

/** Changes the rules. Returns the control to focus; undefined for a button that the form does not have. */
function edit(drafts: Draft[], verb: string, at: number, part: string): string | undefined {
  if (verb === addRule && drafts.length < maxRules) {
    drafts.push({ controls: { name: '', url: '' }, variants: [] })
    return nameOf(drafts.length - 1, 'name')
  }
  const draft = drafts[at]
  if (draft === undefined) return undefined
  switch (verb) {
    case 'remove':
      drafts.splice(at, 1)
      return drafts.length === 0 ? addRule : nameOf(Math.min(at, drafts.length - 1), 'name')
    case 'up':
    case 'down':
      return move(drafts, at, verb)
    case 'add_condition':
      return nameOf(at, part in draft.controls ? part : chosen)
    case 'remove_condition':
      for (const name of Object.keys(draft.controls)) {
        if (name === part || name === `exact_${part}` || name.startsWith(`${part}.`)) delete draft.controls[name]
      }
      return nameOf(at, chosen)
    case 'add_variant':
      return nameOf(at, addVariant(draft))
    case 'remove_variant':
      return nameOf(at, removeVariant(draft, Number(part)))
  }
}

function nameOf(rule: number, control: string): string {
  return `rules.${rule}.${control}`
}

/** Moves a rule by one place. The same button keeps the focus as long as it exists. */
function move(drafts: Draft[], at: number, verb: 'up' | 'down'): string {
  const to = Math.min(Math.max(0, verb === 'up' ? at - 1 : at + 1), drafts.length - 1)
  drafts.splice(to, 0, ...drafts.splice(at, 1))
  if (to === 0) return 'down.0'
  return to === drafts.length - 1 ? `up.${to}` : `${verb}.${to}`
}

function addVariant({ controls, variants }: Draft): string {
  if (variants.length === 0) {
    variants.push({ url: controls.url ?? '', weight: '50' })
    delete controls.url
  }
  if (variants.length < maxVariants) variants.push({ url: '', weight: variants.at(-1)?.weight ?? '' })
  return `urls.${variants.length - 1}.url`
}

/** Removes a destination. The last one becomes the rule’s URL. */
function removeVariant({ controls, variants }: Draft, at: number): string {
  if (variants[at] !== undefined) variants.splice(at, 1)
  if (variants.length > 1) return `urls.${Math.min(at, variants.length - 1)}.url`
  controls.url ??= variants.pop()?.url ?? ''
  return 'url'
}

/** The zone of times, and the zone of hours and weekdays. */
interface Zones {
  readonly timeZone: string
  readonly accountZone: string
}

/** Renders the section. Without scripts, the Enter key presses the first button of a form, so `defaultButton` precedes it. */
export function rulesSection(state: FormState, zones: Zones): Html {
  const { drafts } = splitForm(state.values)
  const isOpen = state.focus !== null || state.violations.some(({ field }) => /^rules(?:\.|$)/.test(field))
  const names = drafts.map(({ controls }, at) => truncateMiddle(controls.name || `Rule ${at + 1}`, 24))
  const used = new Set(drafts.flatMap(({ controls }) => conditionNames.filter((name) => name in controls)))
  const lists = [...used].filter((name) => conditions[name].control === 'list')
  const rules = drafts.map((_, at) => ruleControls(state, drafts, at, zones))
  const body = html`<input type="hidden" name="rules" value="">
<p class="help">The first rule that matches a visitor determines the destination. If none matches, and for bots and link previews, it is the destination above.</p>
${sharedError(state, { name: 'rules', label: linkLabels.rules })}${rules}
${lists.map((name) => suggestionList(listIdOf(name), suggestedValues(name)))}
${drafts.length < maxRules ? html`<div class="actions">${editButton(state, addRule, 'Add rule')}</div>` : html`<p class="help">A link has at most ${maxRules} rules.</p>`}`
  return collapsibleSection(linkLabels.rules, names.join(', ') || 'Everyone gets the same destination', isOpen, body)
}

/** Renders the button that the Enter key presses, for people who see none of the buttons that only change the form. */
export const defaultButton = html`<button type="submit" class="hidden-text" tabindex="-1" aria-hidden="true">Save</button>`

function listIdOf(name: ConditionName): string {
  return `suggested-${name}`
}

function editButton(state: FormState, value: string, words: Part, style = 'plain'): Html {
  const all = { type: 'submit', class: `button ${style}`, name: 'edit_rules', value, autofocus: state.focus === value }
  return html`<button${attributes(all)}>${words}</button>`
}

/** Renders a button with an icon. `words` are for screen readers. */
function iconButton(state: FormState, value: string, name: IconName, words: string): Html {
  return editButton(state, value, html`${icon(name)}<span class="hidden-text">${words}</span>`, 'bare-icon')
}

/** Returns the field of a control of a rule. */
type FieldOf = (control: string, label: string, words?: string) => Field

function ruleControls(state: FormState, drafts: readonly Draft[], at: number, zones: Zones): Html {
  const draft = drafts[at] as Draft
  const group = `Rule ${at + 1}`
  const fieldOf: FieldOf = (control, label, words = label) => {
    const name = nameOf(at, control)
    return { name, label, words, group, hasFocus: state.focus === name }
  }
  const name = textField(state, { ...fieldOf('name', 'Name'), isRequired: true })
  const moves = html`${at === 0 ? null : iconButton(state, `up.${at}`, 'up', `Move rule ${at + 1} up`)}
${at === drafts.length - 1 ? null : iconButton(state, `down.${at}`, 'down', `Move rule ${at + 1} down`)}
${iconButton(state, `remove.${at}`, 'remove', `Remove rule ${at + 1}`)}`
  return html`<fieldset class="rule"><legend>${group}</legend>
${clause(name, moves)}${conditionClauses(state, draft, at, fieldOf, zones)}${destinationClauses(state, draft, at, fieldOf)}</fieldset>`
}

function clause(field: Html, buttons: Html | null, more: Html | null = null): Html {
  return html`<div class="clause">${field}${more}<div class="buttons">${buttons}</div></div>`
}

function conditionClauses(state: FormState, { controls }: Draft, at: number, fieldOf: FieldOf, zones: Zones): Html {
  const [used, missing] = [true, false].map((isUsed) => conditionNames.filter((name) => name in controls === isUsed))
  const clauses = (used ?? []).map((name, index) => {
    const { label, words } = conditions[name]
    const field = fieldOf(name, label, `${index === 0 ? 'If' : 'and'} ${words}`)
    const value = `remove_condition.${at}.${name}`
    return clause(conditionControl(state, name, field, zones), iconButton(state, value, 'remove', `Remove ${label}`))
  })
  if (missing?.length === 0) return html`${clauses}`
  const offered = (missing ?? []).map((value) => ({ value, label: conditions[value].label }))
  const options = [{ value: '', label: 'Choose a condition' }, ...offered]
  const select = selectField(state, {
    ...fieldOf(chosen, 'Condition', clauses.length === 0 ? 'If' : 'and'),
    options,
  })
  return html`${clauses}${clause(select, editButton(state, `add_condition.${at}`, 'Add condition'))}`
}

function conditionControl(state: FormState, name: ConditionName, field: Field, zones: Zones): Html {
  const { control, options } = conditions[name]
  const inZone = `In the account’s time zone, ${zones.accountZone}.`
  switch (control) {
    case 'list':
      return textField(state, { ...field, listId: listIdOf(name), isList: true, help: 'Separate several with commas.' })
    case 'choices':
      return checkboxGroup(state, {
        ...field,
        options: (options ?? []).map((value) => ({ value: String(value), label: listedValue(name, value) })),
        ...(name === 'weekdays' && { help: inZone }),
      })
    case 'query':
      return textField(state, {
        ...field,
        isCode: true,
        help: 'Such as utm_source=mail, ref. A name without a value accepts any value.',
      })
    case 'time':
      return timeField(state, field, zones.timeZone)
    case 'hours':
      return textField(state, { ...field, placeholder: '09:00-17:30', help: inZone })
  }
}

function destinationClauses(state: FormState, { controls, variants }: Draft, at: number, fieldOf: FieldOf): Html {
  const words = conditionNames.some((name) => name in controls) ? 'redirect to' : 'Redirect everyone to'
  const urlField = (control: string, label: string, shown: string) =>
    textField(state, { ...fieldOf(control, label, shown), type: 'url', placeholder: 'https://', isRequired: true })
  const add = html`<div class="actions">${editButton(state, `add_variant.${at}`, 'Add destination')}</div>`
  if (variants.length === 0) return html`${urlField('url', 'Destination', words)}${add}`
  const rows = variants.map((_, index) => {
    const [name, number] = [`urls.${index}`, index + 1]
    const url = urlField(`${name}.url`, `Destination ${number}`, index === 0 ? words : 'or to')
    const weight = textField(state, {
      ...fieldOf(`${name}.weight`, `Weight ${number}`, 'Weight'),
      type: 'number',
      isRequired: true,
    })
    const remove = iconButton(state, `remove_variant.${at}.${index}`, 'remove', `Remove destination ${number}`)
    return clause(url, remove, weight)
  })
  const error = sharedError(state, { ...fieldOf('urls', 'Destinations') })
  const help = html`<p class="help">Drawn by weight. A visitor gets the same destination for a day.</p>`
  return html`${error}${rows}${help}${variants.length < maxVariants ? add : null}`
}
