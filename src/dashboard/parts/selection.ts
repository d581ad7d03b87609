import { type Html, html, type Part } from '../../http/html.ts'

/** Rows name the form, since forms of their own, as in menus, may not stand inside it. */
const formId = 'selection'
const actionsId = 'selection-actions'

/** The checkbox of a row; `what` names the row. The form sends `row-12` for the row 12, if it is checked. */
export function selectRow(id: number, what: string): Html {
  return html`<label><input type="checkbox" form="${formId}" name="row-${id}"><span class="hidden-text">Select ${what}</span></label>`
}

/** What a form sends for these rows when they are selected. */
export function selectedRows(ids: readonly number[]): Readonly<Record<string, string>> {
  return Object.fromEntries(ids.map((id) => [`row-${id}`, 'on']))
}

/** A list whose rows can be selected, one on a page. The bar with what can be done with them appears with the first; on a phone, a menu has it. */
export function selectable(action: string, list: Part, actions: Part): Html {
  return html`<div class="results" data-select>${list}
<form method="post" action="${action}" class="selection" id="${formId}"><span class="number-of" data-number-of>Selected</span>
<label class="needs-script"><input type="checkbox" data-select-all> All on this page</label>
<button type="button" class="button plain" popovertarget="${actionsId}">Actions</button>
<div class="actions" id="${actionsId}" popover>${actions}</div></form></div>`
}
