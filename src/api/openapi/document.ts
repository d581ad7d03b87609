import { version } from '../../version.ts'
import type { Bodies } from '../document-query.ts'
import type { Operation } from '../operations.ts'
import { guide } from './guide.ts'
import { headers } from './headers.ts'
import { parameters, pathItems } from './paths.ts'
import { problemExamples, problemResponses, problemSchemas } from './problems.ts'
import { Schemas } from './schemas.ts'
import { servicePaths, serviceSchemas, serviceTag } from './service.ts'

/**
 * Returns the OpenAPI 3.1 document, built from the forms and schemas that the server itself uses. `url` is the absolute URL
 * of the instance, without a trailing slash. `bodies` selects the description of request bodies.
 */
export function openApiDocument(operations: readonly Operation[], url: string, bodies: Bodies = 'all'): object {
  const schemas = new Schemas({ ...problemSchemas, ...serviceSchemas })
  const examples = problemExamples(operations)
  const paths = { ...pathItems(operations, schemas, bodies), ...servicePaths }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waymark API',
      version,
      summary: 'Short links, their domains and spaces.',
      description: guide,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url, description: 'The instance that serves this document.' }],
    tags: [...tagsOf(operations), serviceTag],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey },
      parameters,
      headers,
      examples,
      responses: problemResponses(examples),
      schemas: schemas.components(),
    },
  }
}

const apiKey = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'wm_…',
  description:
    'An API key: `wm_` and 49 letters and digits. `npx waymark keys create` issues one; the first start of an empty instance prints one. It is accepted in this header only. The scopes that an operation names are those that the key must have; `*` stands for all.',
}

function tagsOf(operations: readonly Operation[]): object[] {
  return [...new Map(operations.map(({ tag }) => [tag.name, tag])).values()]
}
