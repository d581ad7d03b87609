/**
 * What the server answers outside of the API, without a key.
 */
import type { ErrorCode } from '../../errors.ts'
import { failures } from '../../http/failures.ts'
import { headerReferences, onEveryAnswer } from './headers.ts'
import { failuresAnywhere } from './paths.ts'
import { problemReferences } from './problems.ts'
import type { Schema } from './schemas.ts'

export const serviceTag = {
  name: 'Service',
  description: 'The server itself: its health, this document, and what its error codes mean. No key is needed.',
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
      reason: { type: 'string', enum: ['disk_full'], description: 'Why, where it is `degraded`.' },
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

export const servicePaths = {
  '/health': {
    get: {
      ...open(
        'showHealth',
        'Ask whether the server works',
        'The database is asked as well. For load balancers and monitors.',
      ),
      parameters: [requestId],
      responses: answers(
        'It does, or does in part.',
        { 'application/json': { schema: reference('Health'), example: { status: 'ok' } } },
        ['database_unavailable'],
      ),
    },
  },
  '/openapi.json': {
    get: {
      ...open('showDocument', 'This document', 'The same as the interactive reference at `/docs`, for programs.'),
      parameters: [requestId],
      responses: answers('The document.', { 'application/json': { schema: { type: 'object' } } }, ['overloaded']),
    },
  },
  '/problems/{code}': {
    get: {
      ...open(
        'showProblem',
        'What an error code means',
        'Where the `type` of every problem leads: a page for people, or JSON for those who ask for `application/json` and not for `text/html`.',
      ),
      parameters: [
        {
          name: 'code',
          in: 'path',
          required: true,
          description: 'The code of a problem.',
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

function answers(description: string, content: object, own: readonly ErrorCode[]): object {
  return {
    200: { description, headers: headerReferences(onEveryAnswer), content },
    ...problemReferences([...failuresAnywhere, ...own]),
  }
}
