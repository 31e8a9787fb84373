import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import { pipelineStepSchema, stepBody, stepChange } from '#model/pipelines/schemas.ts'
import { changeStep, createStep, type FoundStep, findStep, listSteps, removeStep } from './manage-steps.ts'

const LOCAL = 'If the pipeline runs on a local server, only instance administrators can do this.'
const view = permissions('pipeline', 'id', 'pipeline:view')
const edit = permissions('pipeline', 'id', 'pipeline:edit')

export const stepRoutes: FastifyPluginAsyncTypebox<ResourceDeps> = async (app, deps) => {
  const { db } = deps
  const steps = resourceRoutes(app, deps, {
    tag: 'Pipelines',
    name: 'step',
    record: pipelineStepSchema,
    present: (_, rows: readonly FoundStep[]) => rows.map(({ step }) => step),
  })

  steps.list('/pipelines/:id/steps', {
    access: view,
    description: 'In the order in which they run, built-in steps included.',
    find: ({ params }, name, page) => listSteps(db, params.id, name, page),
  })

  steps.create('/pipelines/:id/steps', {
    access: edit,
    description: `Runs after the step that \`trigger_after\` names, otherwise last. Runs that have already started are not affected. ${LOCAL}`,
    body: stepBody,
    errors: [409, 415],
    run: (trx, call) => createStep(trx, call, call.params.id, call.body),
  })

  steps.read('/pipelines/:id/steps/:step_id', {
    access: view,
    description: 'As the next run will execute it.',
    find: ({ params }) => findStep(db, params.id, params.step_id),
  })

  steps.change('/pipelines/:id/steps/:step_id', {
    access: edit,
    description: `\`trigger_after\` moves it. Runs that have already started are not affected. Of a built-in step, only \`timeout_seconds\` can be changed. ${LOCAL}`,
    body: stepChange,
    errors: [409, 415],
    run: (trx, call) => changeStep(trx, call, call.params.id, call.params.step_id, call.body, call.ifMatch),
  })

  steps.remove('/pipelines/:id/steps/:step_id', {
    access: edit,
    description: `Runs that have already started are not affected. Built-in steps cannot be removed. ${LOCAL}`,
    errors: [409],
    run: (trx, call) => removeStep(trx, call, call.params.id, call.params.step_id, call.ifMatch),
  })
}
