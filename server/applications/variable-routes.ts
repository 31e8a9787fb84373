import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf, permissions, placeOf } from '#access/enforce.ts'
import { can } from '#access/permissions.ts'
import { actorOf } from '#audit/actor.ts'
import type { SecretBox } from '#crypto/secret-box.ts'
import type { Database } from '#database/connect.ts'
import { readIfMatch, sendWithETag } from '#http/if-match.ts'
import { nameFilter } from '#http/name-filter.ts'
import { describePage, pageOf, pageQuery } from '#http/pagination.ts'
import { toApiError } from '#http/refusals.ts'
import { Exactly, Id, ref, refusals } from '#http/schemas.ts'
import { findVariable, listVariables, presentVariable, type VariableRow } from './find-variables.ts'
import { changeVariable, createVariable, removeVariable, type VariableOutcome } from './manage-variables.ts'
import {
  type ApplicationVariable,
  applicationVariableSchema,
  variableBody,
  variableChange,
} from './schemas.ts'

export type VariableRoutes = { db: Database; box: SecretBox; baseUrl: () => string }

const tags = ['Applications']
const applicationParams = Exactly({ id: Id })
const variableParams = Exactly({ id: Id, variable_id: Id })
const variableReply = ref(applicationVariableSchema)

export const variableRoutes: FastifyPluginAsyncTypebox<VariableRoutes> = async (app, deps) => {
  const { db, box, baseUrl } = deps

  app.get(
    '/applications/:id/variables',
    {
      config: { access: permissions('application', 'id', 'application:view') },
      schema: {
        tags,
        operationId: 'listVariables',
        summary: 'List the variables of an application',
        description:
          'Newest first. Values are shown to callers with `application:edit`; hidden ones to nobody.',
        params: applicationParams,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(variableReply), ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const { rows, extent } = await listVariables(db, request.params.id, request.query['filter[name]'], page)
      describePage(request, reply, baseUrl(), page, extent)
      return rows.map((row) => present(request, row))
    },
  )

  app.post(
    '/applications/:id/variables',
    {
      config: { access: permissions('application', 'id', 'application:edit') },
      schema: {
        tags,
        operationId: 'createVariable',
        summary: 'Give an application a variable',
        description:
          'Commands of the application find it in their environment, from the next run on. When the application is linked to a local server, this is for instance administrators.',
        params: applicationParams,
        body: variableBody,
        response: { 201: variableReply, ...refusals(400, 401, 403, 404, 409, 415, 422) },
      },
    },
    async (request, reply) => {
      const by = { actor: actorOf(request), box }
      const outcome = await db
        .transaction()
        .execute((trx) => createVariable(trx, by, callerOf(request), request.params.id, request.body))
      return show(request, reply.code(201), outcome)
    },
  )

  app.get(
    '/applications/:id/variables/:variable_id',
    {
      config: { access: permissions('application', 'id', 'application:view') },
      schema: {
        tags,
        operationId: 'readVariable',
        summary: 'Read a variable of an application',
        description: 'The value is shown to callers with `application:edit`; a hidden one to nobody.',
        params: variableParams,
        response: { 200: variableReply, ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const row = await findVariable(db, request.params.id, request.params.variable_id)
      return show(request, reply, row ? { kind: 'done', row } : { kind: 'gone' })
    },
  )

  app.put(
    '/applications/:id/variables/:variable_id',
    {
      config: { access: permissions('application', 'id', 'application:edit') },
      schema: {
        tags,
        operationId: 'changeVariable',
        summary: 'Change a variable of an application',
        description:
          'A field that is given replaces what is stored; others stay. To make a hidden variable visible, give it a value. When the application is linked to a local server, this is for instance administrators.',
        params: variableParams,
        body: variableChange,
        response: { 200: variableReply, ...refusals(400, 401, 403, 404, 412, 415, 422) },
      },
    },
    async (request, reply) => {
      const { id, variable_id } = request.params
      const by = { actor: actorOf(request), box }
      const outcome = await db
        .transaction()
        .execute((trx) =>
          changeVariable(trx, by, callerOf(request), id, variable_id, request.body, readIfMatch(request)),
        )
      return show(request, reply, outcome)
    },
  )

  app.delete(
    '/applications/:id/variables/:variable_id',
    {
      config: { access: permissions('application', 'id', 'application:edit') },
      schema: {
        tags,
        operationId: 'removeVariable',
        summary: 'Remove a variable of an application',
        description: 'When the application is linked to a local server, this is for instance administrators.',
        params: variableParams,
        response: { 204: Type.Null(), ...refusals(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { id, variable_id } = request.params
      const by = { actor: actorOf(request) }
      const outcome = await db
        .transaction()
        .execute((trx) => removeVariable(trx, by, callerOf(request), id, variable_id))
      if (outcome.kind !== 'removed') throw toApiError(outcome)
      return reply.code(204).send(null)
    },
  )

  function show(request: FastifyRequest, reply: FastifyReply, outcome: VariableOutcome): ApplicationVariable {
    if (outcome.kind !== 'done') throw toApiError(outcome)
    sendWithETag(reply, outcome.row.row_version)
    return present(request, outcome.row)
  }

  function present(request: FastifyRequest, row: VariableRow): ApplicationVariable {
    const mayEdit = can(callerOf(request), 'application:edit', placeOf(request))
    return presentVariable(row, { box, mayEdit })
  }
}
