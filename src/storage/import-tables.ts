import type { Generated } from 'kysely'

/** The tables of imports. */
export interface ImportTables {
  /** Imports from other services: see `imports/`. The JSON columns are read only there. */
  imports: {
    id: Generated<number>
    account_id: number
    created_at: string
    updated_at: string
    revision: Generated<number>
    source: string
    state: string
    is_case_sensitive: number
    options: string
    columns: string
    summary: string
    /** The batch of all events of the import. */
    batch_id: string
    /** The last row and day that are stored. */
    applied_row: Generated<number>
    applied_day: Generated<number>
    /** The number of events of the batch about links and tags that are not undone. */
    open_events: Generated<number>
    /** Batches that have undone the undo of these events, as JSON. */
    returned_in: string | null
    /** 1 while a job deletes the import, which is gone for clients; null otherwise. */
    is_deleting: number | null
    applied_at: string | null
    /** Why the import could not be planned. */
    error: string | null
  }
  /** Rows of files. `outcome` is null until the import is planned. */
  import_rows: {
    import_id: number
    /** The position in the file, from 1. */
    id: number
    line: number | null
    content: string
    /** The cells of a table whose columns can be mapped again. */
    cells: string | null
    /** The key by which clicks of the file refer to the row. */
    reference: string | null
    outcome: string | null
    /** The link that the row has stored, or that has its address. */
    link_id: number | null
    /** The rest of the decision, as JSON: see `Decision` in `imports/staging/store.ts`. */
    decision: string | null
  }
  /** Addresses of rows. `host` is '' if the file has none. `alias` is null if the link of the row does not get it. */
  import_addresses: {
    import_id: number
    row_id: number
    position: number
    host: string
    path: string
    folded: string
    domain_id: number | null
    alias: string | null
    exact: Generated<number>
    legacy: Generated<number>
    result: string | null
    old_status: number | null
    old_location: string | null
    new_status: number | null
    new_location: string | null
    reason: string | null
  }
  /** Clicks on addresses by day. Several rows for one day add up. */
  import_days: {
    id: Generated<number>
    import_id: number
    host: string
    path: string
    folded: string
    /** Refers to a row of the file, until all rows are stored. */
    reference: string | null
    day: number
    clicks: number
    bots: number
    hours: string
    breakdowns: string
  }
}
