import type { BatchWriter, BatchWriterOptions, StorageLocation } from './port.ts'

/** Opens another connection to a migrated database. */
export async function openBatchWriter(location: StorageLocation, options?: BatchWriterOptions): Promise<BatchWriter> {
  if (location.engine === 'sqlite') {
    return (await import('./sqlite/batch-writer.ts')).openSqliteBatchWriter(location.path, options)
  }
  return (await import('./postgres/batch-writer.ts')).openPostgresBatchWriter(location.url)
}

/** Overwrites deleted rows of a table on a connection of its own. See `BatchWriter.scrub`. */
export async function scrub(location: StorageLocation, table: Parameters<BatchWriter['scrub']>[0]): Promise<void> {
  const writer = await openBatchWriter(location)
  try {
    await writer.scrub(table)
  } finally {
    await writer.close()
  }
}
