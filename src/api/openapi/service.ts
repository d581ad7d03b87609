/**
 * Paths outside the API, which require no key.
 */
import type { ApiErrorCode } from '../../errors.ts'
import { failures } from '../../http/failures.ts'
import { documentQuery } from '../document-query.ts'
import { type HeaderName, headerReferences, onEveryAnswer, optionalHeaders } from './headers.ts'
import { failuresAnywhere, queryParameters } from './paths.ts'
import { problemReferences } from './problems.ts'
import { type Schema, Schemas } from './schemas.ts'

export const serviceTag = {
  name: 'Service',
  description: 'The server’s health, this document, and the meaning of error codes. None of them needs a key.',
}

export const serviceSchemas: Readonly<Record<string, Schema>> = {
  Health: {
    type: 'object',
    required: ['status'],
    properties: {
      status: {
        type: 'string',
        enum: ['ok', 'degraded'],
        description: '`degraded`: reads are answered, writes are not.',
      },
      reason: { type: 'string', enum: ['disk_full', 'read_only'], description: 'Why, where it is `degraded`.' },
    },
  },
  ProblemExplanation: {
    type: 'object',
    description: 'What an error code means, and the way out.',
    required: ['code', 'status', 'title', 'explanation'],
    properties: {
      code: { $ref: '#/components/schemas/ErrorCode' },
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status that goes with it.' },
      title: { type: 'string' },
      explanation: { type: 'string' },
      violations: {
        type: 'object',
        description: 'For `validation_failed`: the meaning of each violation code.',
        additionalProperties: { type: 'string' },
      },
    },
  },
}

const requestId = { $ref: '#/components/parameters/RequestId' }

/** The headers of static content. */
const ofStaticContent: readonly HeaderName[] = ['ETag', 'Cache-Control', 'Vary', 'Content-Encoding']

export const servicePaths = {
  '/health': {
    get: {
      ...open(
        'showHealth',
        'Check the server’s health',
        'For load balancers and monitors. It queries the database too.',
      ),
      parameters: [requestId],
      responses: {
        ...answers(
          'The server works, or its disk is full (`degraded`, `disk_full`): reads are answered, writes are not.',
          { 'application/json': { schema: reference('Health'), example: { status: 'ok' } } },
          [],
        ),
        503: {
          description:
            'The database is read-only (`degraded`, `read_only`), so send requests to another server; or the database does not respond or is damaged (a problem).',
          headers: { ...headerReferences(onEveryAnswer), ...optionalHeaders(['Retry-After', 'Vary']) },
          content: {
            'application/json': {
              schema: { anyOf: [reference('Health'), reference('Problem')] },
              example: { status: 'degraded', reason: 'read_only' },
            },
            'application/problem+json': { schema: reference('Problem') },
          },
        },
      },
    },
  },
  '/openapi.json': {
    get: {
      ...open('showDocument', 'Get this document', 'What the reference at `/docs` shows, for programs.'),
      parameters: [
        ...queryParameters(documentQuery, new Schemas({})),
        { $ref: '#/components/parameters/If-Match' },
        { $ref: '#/components/parameters/If-None-Match' },
        requestId,
      ],
      responses: {
        ...answers(
          'The document.',
          { 'application/json': { schema: { type: 'object' } } },
          ['validation_failed', 'precondition_failed', 'overloaded'],
          ofStaticContent,
        ),
        304: {
          description: 'Nothing has changed: If-None-Match has the current ETag.',
          headers: headerReferences([...onEveryAnswer, 'ETag', 'Cache-Control', 'Vary']),
        },
      },
    },
  },
  '/problems/{code}': {
    get: {
      ...open(
        'showProblem',
        'Explain an error code',
        'The `type` of every problem leads here. The answer is a page, or JSON if `Accept` names `application/json` and not `text/html`.',
      ),
      parameters: [
        {
          name: 'code',
          in: 'path',
          required: true,
          description: 'The `code` of a problem.',
          schema: reference('ErrorCode'),
          example: 'name_taken',
        },
        requestId,
      ],
      responses: answers(
        'The explanation.',
        {
          'text/html': { schema: { type: 'string' } },
          'application/json': {
            schema: reference('ProblemExplanation'),
            example: { code: 'name_taken', ...failures.name_taken },
          },
        },
        ['not_found', 'overloaded'],
        ['Vary'],
      ),
    },
  },
} as const

function open(operationId: string, summary: string, description: string) {
  return { operationId, tags: [serviceTag.name], summary, description, security: [] }
}

function reference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

function answers(
  description: string,
  content: object,
  own: readonly ApiErrorCode[],
  headers: readonly HeaderName[] = [],
): object {
  return {
    200: { description, headers: headerReferences([...onEveryAnswer, ...headers]), content },
    ...problemReferences([...failuresAnywhere, ...own]),
  }
}
