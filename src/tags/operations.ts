import { bodyFailures, describeOperations, type Operation } from '../api/operations.ts'
import { Type } from '../forms/json-schema.ts'
import { listTagsQuery, mergeTagForm, storeTag, tagSchema, updateTag } from './schema.ts'

const example = {
  id: 1,
  name: 'Summer',
  color: 3,
  links: 0,
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
}

export const tagOperations = describeOperations('tags', {
  description: 'Words that describe links. A link has up to 20 tags.',
  record: tagSchema,
  listQuery: listTagsQuery,
  store: {
    form: storeTag,
    failures: ['name_taken'],
    example: { name: 'Summer', color: 3 },
    refused: { name: 'Summer, sale', color: '9' },
  },
  update: {
    form: updateTag,
    failures: ['name_taken'],
    description: 'Changes the name or color of a tag. Its links have the new name immediately.',
    example: { name: 'Summer 2026', color: 3 },
  },
  example,
})

export const mergeTag: Operation = {
  id: 'mergeTag',
  method: 'POST',
  path: '/tags/:id/merge',
  tag: tagOperations.show.tag,
  summary: 'Merge a tag into another',
  description:
    'Gives the links of this tag the tag `into`, deletes this tag, and returns the remaining one. Links that have both keep one.',
  scope: 'tags:write',
  headers: ['If-Match', 'If-None-Match'],
  body: { name: 'MergeTag', form: mergeTagForm, example: { into: 2 } },
  refused: { into: '0' },
  success: {
    status: 200,
    description: 'The remaining tag.',
    schema: Type.Object({ data: tagSchema }),
    example: { data: { ...example, id: 2, links: 12 } },
    headers: ['ETag'],
  },
  failures: ['not_found', 'precondition_failed', ...bodyFailures],
}
