import type { BatchWriter, StorageLocation } from './port.ts'

/** Opens another connection to a migrated database. */
export async function openBatchWriter(location: StorageLocation): Promise<BatchWriter> {
  if (location.engine === 'sqlite') {
    return (await import('./sqlite/batch-writer.ts')).openSqliteBatchWriter(location.path)
  }
  return (await import('./postgres/batch-writer.ts')).openPostgresBatchWriter(location.url)
}
