import { ClickSink } from './click-sink.ts'
import { type ClickHouseTable, clickHouseSink } from './clickhouse.ts'
import { fileOfProcess, jsonlFileSink } from './jsonl-file.ts'
import { Spool } from './spool.ts'
import { openSpoolFolder } from './spool-folder.ts'

/** Where raw clicks go, as configuration names it. */
export type SinkTarget =
  | { readonly kind: 'jsonl'; readonly path: string }
  | ({ readonly kind: 'clickhouse' } & ClickHouseTable)

export interface SinkConfig {
  readonly target: SinkTarget
  /** The folder in which clicks wait for the sink. */
  readonly spool: string
  /** Bytes that may wait there, for each process. */
  readonly spoolBytes: number
}

/**
 * Opens the sink of this process; null if there is none. Nothing is sent before `begin`. `onProblem` gets the first
 * failure of each outage, and `SpoolUnusable` if the spool's folder cannot be used.
 */
export function openSink(config: SinkConfig | null, onProblem: (error: unknown) => void): ClickSink | null {
  return config === null ? null : new ClickSink(() => openSpool(config, onProblem), onProblem)
}

function openSpool({ target, spool, spoolBytes }: SinkConfig, onProblem: (error: unknown) => void): Spool {
  const folder = openSpoolFolder(spool)
  const sink =
    target.kind === 'jsonl' ? jsonlFileSink(fileOfProcess(target.path, folder.number)) : clickHouseSink(target)
  return new Spool(folder, sink, { maxBytes: spoolBytes, onProblem })
}
