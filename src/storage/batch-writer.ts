import type { BatchWriter, BatchWriterOptions, StorageLocation } from './port.ts'

/** Opens another connection to a migrated database. */
export async function openBatchWriter(location: StorageLocation, options?: BatchWriterOptions): Promise<BatchWriter> {
  if (location.engine === 'sqlite') {
    return (await import('./sqlite/batch-writer.ts')).openSqliteBatchWriter(location.path, options)
  }
  return (await import('./postgres/batch-writer.ts')).openPostgresBatchWriter(location.url)
}
