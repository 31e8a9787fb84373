import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { knownNames } from '#access/authorization/known-names.ts'
import { type ResourceDeps, resourceRoutes, searchText } from '#access/resource-routes.ts'
import {
  pipelineBody,
  pipelineChange,
  pipelineSchema,
  pipelineStepSchema,
  stepBody,
  stepChange,
} from '#model/pipelines/schemas.ts'
import { cascadeQuery } from '#platform/http/schemas.ts'
import { changePipeline, createPipeline } from './manage-pipelines.ts'
import { changeStep, createStep, type FoundStep, findStep, listSteps, removeStep } from './manage-steps.ts'
import {
  findPipeline,
  listEnvironmentPipelines,
  listPipelines,
  type PipelineRow,
  presentPipelines,
} from './read-pipelines.ts'
import { removePipeline } from './remove-pipelines.ts'

/** What pipelines belong to. */
const RESOURCES = [
  {
    type: 'application',
    word: 'Application',
    creating:
      'Runs on the servers that the application is linked to. A `deploy` gets its built-in steps. If one of the servers is local, only instance administrators can do this.',
  },
  {
    type: 'server',
    word: 'Server',
    creating: 'Runs on the server itself. On a local server, only instance administrators can do this.',
  },
] as const

export const pipelineRoutes: FastifyPluginAsyncTypebox<ResourceDeps> = async (app, deps) => {
  const { db } = deps
  await app.register(stepRoutes, deps)
  const pipelines = resourceRoutes(app, deps, {
    tag: 'Pipelines',
    name: 'pipeline',
    record: pipelineSchema,
    present: ({ caller, scope }, rows: readonly PipelineRow[]) =>
      presentPipelines(db, rows, knownNames(caller, scope)),
  })

  pipelines.list('/environments/:id/pipelines', {
    compress: true,
    operationId: 'listEnvironmentPipelines',
    description: 'Those of all its applications and servers, newest first, each with its steps.',
    filters: { q: searchText('Part of the name of the pipeline, or of its application or server') },
    find({ caller, scope, id, query: { q } }, _, page) {
      const search = q === undefined ? undefined : { text: q, names: knownNames(caller, scope) }
      return listEnvironmentPipelines(db, id, search, page)
    },
  })

  for (const { type, word, creating } of RESOURCES) {
    pipelines.list(`/pipelines/${type}/:resource_id`, {
      compress: true,
      access: permissions(type, 'resource_id', 'pipeline:view'),
      operationId: `list${word}Pipelines`,
      description: 'Newest first, each with its steps.',
      find: ({ id }, name, page) => listPipelines(db, { type, id }, name, page),
    })

    pipelines.create(`/pipelines/${type}/:resource_id`, {
      access: permissions(type, 'resource_id', 'pipeline:add'),
      operationId: `create${word}Pipeline`,
      summary: `Create a pipeline of ${type === 'server' ? 'a server' : 'an application'}`,
      description: creating,
      body: pipelineBody,
      errors: [415],
      run: (trx, call) => createPipeline(trx, type, call),
    })
  }

  pipelines.read('/pipelines/:id', {
    description: 'Includes its steps, in the order in which they run.',
    find: ({ id }) => findPipeline(db, id),
  })

  pipelines.change('/pipelines/:id', {
    description:
      'A list is replaced as a whole. The operation cannot be changed once the pipeline has runs or hooks.',
    body: pipelineChange,
    errors: [409, 415],
    run: changePipeline,
  })

  pipelines.remove('/pipelines/:id', {
    description:
      'Its runs remain. Returns 409 while it has hooks or other pipelines run after it. With `cascade`, the hooks are removed too (requires `hook:remove`), and the other pipelines no longer run after it. Never removed while a run is unfinished.',
    query: cascadeQuery,
    run: removePipeline,
  })
}

const LOCAL = 'If the pipeline runs on a local server, only instance administrators can do this.'

export const stepRoutes: FastifyPluginAsyncTypebox<ResourceDeps> = async (app, deps) => {
  const { db } = deps
  const steps = resourceRoutes(app, deps, {
    tag: 'Pipelines',
    name: 'step',
    permission: 'pipeline',
    isPart: true,
    record: pipelineStepSchema,
    present: (_, rows: readonly FoundStep[]) => rows.map(({ step }) => step),
  })

  steps.list('/pipelines/:id/steps', {
    description: 'In the order in which they run, built-in steps included.',
    find: ({ id }, name, page) => listSteps(db, id, name, page),
  })

  steps.create('/pipelines/:id/steps', {
    description: `Runs after the step that \`trigger_after\` names, otherwise last. Runs that have already started are not affected. ${LOCAL}`,
    body: stepBody,
    errors: [409, 415],
    run: createStep,
  })

  steps.read('/pipelines/:id/steps/:step_id', {
    description: 'As the next run will execute it.',
    find: ({ parentId, id }) => findStep(db, parentId, id),
  })

  steps.change('/pipelines/:id/steps/:step_id', {
    description: `\`trigger_after\` moves it. Runs that have already started are not affected. Of a built-in step, only \`timeout_seconds\` can be changed. ${LOCAL}`,
    body: stepChange,
    errors: [409, 415],
    run: changeStep,
  })

  steps.remove('/pipelines/:id/steps/:step_id', {
    description: `Runs that have already started are not affected. Built-in steps cannot be removed. ${LOCAL}`,
    errors: [409],
    run: removeStep,
  })
}
