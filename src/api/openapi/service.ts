/** Paths outside the API, which require no key. */
import type { ApiErrorCode } from '../../errors.ts'
import { failures } from '../../http/failures.ts'
import type { Operation } from '../operations.ts'
import { headerReferences, notModified, onEveryAnswer, optionalHeaders } from './headers.ts'
import { failuresAnywhere, problemReferences } from './problems.ts'
import { documentQuery, queryParameters, reference, type Schema, Schemas } from './schemas.ts'

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
      code: reference('schemas', 'ErrorCode'),
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

const health = reference('schemas', 'Health')
const problem = reference('schemas', 'Problem')

export const servicePaths = {
  '/health': open({
    id: 'showHealth',
    summary: 'Check the server’s health',
    description: 'For load balancers and monitors. It queries the database too.',
    answer: 'The server works, or its disk is full (`degraded`, `disk_full`): reads are answered, writes are not.',
    content: { 'application/json': { schema: health, example: { status: 'ok' } } },
    others: {
      503: {
        description:
          'The database is read-only (`degraded`, `read_only`), so send requests to another server; or the database does not respond or is damaged (a problem).',
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
    description: 'What the reference at `/docs` shows, for programs.',
    parameters: [
      ...queryParameters(documentQuery, new Schemas({})),
      reference('parameters', 'If-Match'),
      reference('parameters', 'If-None-Match'),
    ],
    answer: 'The document.',
    content: { 'application/json': { schema: { type: 'object' } } },
    headers: ['ETag', 'Cache-Control', 'Vary', 'Content-Encoding'],
    others: { 304: notModified([...onEveryAnswer, 'ETag', 'Cache-Control', 'Vary']) },
    failures: ['validation_failed', 'precondition_failed', 'overloaded'],
  }),
  '/problems/{code}': open({
    id: 'showProblem',
    summary: 'Explain an error code',
    description:
      'The `type` of every problem leads here. The answer is a page, or JSON if `Accept` names `application/json` and not `text/html`.',
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
        example: { code: 'name_taken', ...failures.name_taken },
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
