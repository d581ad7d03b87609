/** Paths outside the API, which require no key. */

import type { Operation } from '../../../src/api/operations.ts'
import type { ApiErrorCode } from '../../../src/errors.ts'
import { failures } from '../../../src/http/failures.ts'
import { explanations } from '../problem-texts.ts'
import { headerReferences, notModified, onEveryAnswer, optionalHeaders } from './headers.ts'
import { failuresAnywhere, problemReferences } from './problems.ts'
import { reference, type Schema } from './schemas.ts'

export const serviceTag = {
  name: 'Service',
  description: 'The server’s health, this document, and the error codes. These operations need no key.',
}

export const serviceSchemas: Readonly<Record<string, Schema>> = {
  Health: {
    type: 'object',
    required: ['status'],
    properties: {
      status: {
        type: 'string',
        enum: ['ok', 'degraded'],
        description: '`degraded`: reads work, and writes fail.',
      },
      reason: { type: 'string', enum: ['disk_full', 'read_only'], description: 'The reason for `degraded`.' },
    },
  },
  ProblemExplanation: {
    type: 'object',
    description: 'The meaning of an error code, and how to fix the error.',
    required: ['code', 'status', 'title', 'explanation'],
    properties: {
      code: reference('schemas', 'ErrorCode'),
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status of the code.' },
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

const health = reference('schemas', 'Health')
const problem = reference('schemas', 'Problem')

export const servicePaths = {
  '/health': open({
    id: 'showHealth',
    summary: 'Check the server’s health',
    description: 'For load balancers and monitors. It queries the database too.',
    answer: 'The server works, or its disk is full (`degraded`, `disk_full`): reads work, and writes fail.',
    content: { 'application/json': { schema: health, example: { status: 'ok' } } },
    others: {
      503: {
        description:
          'The database is read-only (`degraded`, `read_only`): send requests to another server. If the database is unavailable or damaged, the response is a problem.',
        headers: { ...headerReferences(onEveryAnswer), ...optionalHeaders(['Retry-After', 'Vary']) },
        content: {
          'application/json': {
            schema: { anyOf: [health, problem] },
            example: { status: 'degraded', reason: 'read_only' },
          },
          'application/problem+json': { schema: problem },
        },
      },
    },
  }),
  '/openapi.json': open({
    id: 'showDocument',
    summary: 'Get this document',
    description: 'The content of the reference at `/docs`, for programs.',
    parameters: [reference('parameters', 'If-Match'), reference('parameters', 'If-None-Match')],
    answer: 'The document.',
    content: { 'application/json': { schema: { type: 'object' } } },
    headers: ['ETag', 'Cache-Control', 'Vary', 'Content-Encoding'],
    others: { 304: notModified([...onEveryAnswer, 'ETag', 'Cache-Control', 'Vary']) },
    failures: ['precondition_failed', 'overloaded'],
  }),
  '/problems/{code}': open({
    id: 'showProblem',
    summary: 'Explain an error code',
    description:
      'The `type` of every problem is the URL of its explanation. The response is a page, or JSON if `Accept` names `application/json` and not `text/html`.',
    parameters: [
      {
        name: 'code',
        in: 'path',
        required: true,
        description: 'The `code` of a problem.',
        schema: reference('schemas', 'ErrorCode'),
        example: 'name_taken',
      },
    ],
    answer: 'The explanation.',
    content: {
      'text/html': { schema: { type: 'string' } },
      'application/json': {
        schema: reference('schemas', 'ProblemExplanation'),
        example: { code: 'name_taken', ...failures.name_taken, explanation: explanations.name_taken },
      },
    },
    headers: ['Vary'],
    failures: ['not_found', 'overloaded'],
  }),
}

interface OpenOperation extends Pick<Operation, 'id' | 'summary' | 'description'> {
  readonly parameters?: readonly object[]
  /** Describes the response with the status 200. */
  readonly answer: string
  readonly content: object
  /** The headers of the response in addition to the headers of every response. */
  readonly headers?: readonly string[]
  readonly others?: object
  readonly failures?: readonly ApiErrorCode[]
}

function open({ id, summary, description, answer, content, others, ...operation }: OpenOperation): object {
  const { parameters = [], headers = [], failures = [] } = operation
  return {
    get: {
      operationId: id,
      tags: [serviceTag.name],
      summary,
      description,
      security: [],
      parameters: [...parameters, reference('parameters', 'RequestId')],
      responses: {
        200: { description: answer, headers: headerReferences([...onEveryAnswer, ...headers]), content },
        ...problemReferences([...failuresAnywhere, ...failures]),
        ...others,
      },
    },
  }
}
