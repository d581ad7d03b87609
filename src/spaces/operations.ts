import { describeOperations } from '../api/operations.ts'
import { listSpacesQuery, spaceSchema, storeSpace, updateSpace } from './schema.ts'

export const spaceOperations = describeOperations('spaces', {
  description: 'Named groups of links, each with one of six colors.',
  record: spaceSchema,
  listQuery: listSpacesQuery,
  store: { form: storeSpace, failures: [], example: { name: 'Marketing', color: 3 }, refused: { color: '9' } },
  update: {
    form: updateSpace,
    description: 'Changes the name or color of a space.',
    example: { name: 'Marketing', color: 5 },
  },
  example: {
    id: 1,
    name: 'Marketing',
    color: 3,
    created_at: '2026-11-20T12:00:00.000Z',
    updated_at: '2026-11-20T12:00:00.000Z',
  },
})
