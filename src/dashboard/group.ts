/** Domains, spaces and tags, which group links: what their pages show of each kind. */
import type { ResourceHandlers } from '../api/handlers.ts'
import type { GroupKind } from '../events/event.ts'
import type { Form } from '../forms/form.ts'
import type { ListQuery } from '../forms/list-query.ts'
import type { Html, Part } from '../http/html.ts'
import type { PageRequest } from './page.ts'
import type { MenuItem, Viewer } from './parts/buttons.ts'
import type { FormState } from './parts/fields.ts'
import type { Column } from './parts/table.ts'
import type { WarningNotes } from './parts/warnings.ts'
import type { RecordForms } from './record-forms.ts'

/** Clicks in the last 30 days; null if there are too many links to add them up. */
export type Listed<Row> = { readonly row: Row; readonly links: number; readonly clicks: number | null }

interface GroupRow {
  readonly id: number
  readonly created_at: string
}

export interface Group<Row extends GroupRow> extends Omit<RecordForms<Row>, 'newPage'> {
  readonly actions: ResourceHandlers<Row>
  readonly listQuery: Form<ListQuery>
  readonly what: GroupKind
  readonly words: {
    readonly add: string
    readonly create: string
    /** The text for an empty list. */
    readonly why: string
    /** The label of the creation-time column. */
    readonly created: string
    /** The heading of the statistics. */
    readonly statistics: string
  }
  readonly newControls: (state: FormState) => Html
  readonly nameOf: (row: Row) => string
  readonly heading: (row: Row) => Html
  /** Renders the second line of a row, under the name. */
  readonly underName?: (row: Row, viewer: Viewer) => Html
  /** Returns the columns of a list page, between the name and the creation time. */
  readonly columns: (account: number, rows: readonly Row[]) => Promise<readonly Column<Listed<Row>>[]>
  /** Returns how many links a tag has. */
  readonly linksOf?: (row: Row) => number
  /** Returns the query of the form for a new link in the group. */
  readonly newLinkQuery?: (row: Row) => Readonly<Record<string, string>>
  /** Menu items that only this kind of group has. */
  readonly menuItems?: (row: Row) => readonly MenuItem[]
  /** Renders the part of a group's page above its clicks. */
  readonly details?: (request: PageRequest, row: Row, hasClicks: boolean, notes: WarningNotes) => Promise<Html>
  /** Returns the title and the consequences of deleting a group with `total` links, such as "more than 1,000 links". */
  readonly deletion: (row: Row, total: number, links: string, account: number) => Promise<readonly [string, ...Part[]]>
  /** Returns whether the text is the name of the group. Then people always type it, not only if there are many links. */
  readonly isNamed?: (row: Row, text: string) => boolean
}

/** Adds the pages of a kind of groups: its list, its forms, and the page of each group with its clicks and its history. */
export type AddGroupPages = <Row extends GroupRow>(group: Group<Row>) => void
