import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { findVariable, listVariables, presentVariable, type VariableRow } from './find-variables.ts'
import { changeVariable, createVariable, removeVariable } from './manage-variables.ts'
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
  const answer = answerRecords({ db, baseUrl, present, refuse: toApiError })

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
        response: { 200: Type.Array(variableReply), ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listVariables(db, request.params.id, name, page)),
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
        response: { 201: variableReply, ...errorResponses(400, 401, 403, 404, 409, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request), box }
      return answer.create(request, reply, (trx) =>
        createVariable(trx, by, callerOf(request), request.params.id, request.body),
      )
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
        response: { 200: variableReply, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) =>
      answer.read(request, reply, findVariable(db, request.params.id, request.params.variable_id)),
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
        response: { 200: variableReply, ...errorResponses(400, 401, 403, 404, 412, 415, 422) },
      },
    },
    (request, reply) => {
      const { id, variable_id } = request.params
      const by = { actor: actorOf(request), box }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeVariable(trx, by, callerOf(request), id, variable_id, request.body, ifMatch),
      )
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
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 412, 422) },
      },
    },
    (request, reply) => {
      const { id, variable_id } = request.params
      const by = { actor: actorOf(request) }
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeVariable(trx, by, callerOf(request), id, variable_id, ifMatch),
      )
    },
  )

  function present(request: FastifyRequest, rows: readonly VariableRow[]): ApplicationVariable[] {
    const mayEdit = can(callerOf(request), 'application:edit', scopeOf(request))
    return rows.map((row) => presentVariable(row, { box, mayEdit }))
  }
}
