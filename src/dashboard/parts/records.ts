import { type Html, html } from '../../http/html.ts'
import { copyButton } from './buttons.ts'
import { table } from './table.ts'

/** A record of the domain name system that somebody has to set. */
export interface DnsRecord {
  readonly type: string
  readonly name: string
  readonly value: string
}

/** DNS records to set, each with buttons that copy its name and its value. */
export function dnsRecords(records: readonly DnsRecord[]): Html {
  return table({
    caption: 'DNS records',
    rows: records,
    columns: [
      { label: 'Type', cell: ({ type }) => type },
      { label: 'Name', cell: ({ name }) => copied(name, 'the name') },
      { label: 'Value', cell: ({ value }) => copied(value, 'the value') },
    ],
  })
}

function copied(text: string, what: string): Html {
  return html`<span class="short"><code>${text}</code>${copyButton(text, what)}</span>`
}
