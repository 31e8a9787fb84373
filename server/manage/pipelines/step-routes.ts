import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import { pipelineStepSchema, stepBody, stepChange } from '#model/pipelines/schemas.ts'
import { changeStep, createStep, type FoundStep, findStep, listSteps, removeStep } from './manage-steps.ts'

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
