import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import type { StepDefinition } from './load-run.ts'
import { resumeAt } from './resume.ts'

type StepSpec = string | { name: string; idempotent: boolean }

const again = (name: string): StepSpec => ({ name, idempotent: true })
const once = (name: string): StepSpec => ({ name, idempotent: false })
const BUILT_IN: string[] = DEPLOY_STEPS.map(({ name }) => name)

/** A string is a built-in step. */
function define(specs: readonly StepSpec[]): StepDefinition[] {
  return specs.map((spec, index) => ({
    order: index + 1,
    runAsUser: null,
    timeoutSeconds: 600,
    healthCheck: null,
    ...(typeof spec === 'string'
      ? { name: spec, builtIn: true, command: null, idempotent: false }
      : { ...spec, builtIn: false, command: 'true' }),
  }))
}

/** The steps as a worker that is lost in this one leaves them. */
function lostIn(definitions: readonly StepDefinition[], order: number, status: Status = 'in-progress') {
  return definitions.map((definition): StoredStep => {
    const now: Status =
      definition.order < order ? 'completed' : definition.order === order ? status : 'pending'
    return {
      order: definition.order,
      step_id: definition.order,
      name: definition.name,
      description: null,
      status: now,
      reason: 'PENDING',
      started_at: null,
      completed_at: null,
    }
  })
}

/** The name of the step where another worker continues, or null when the target fails. */
function resumesAt(specs: readonly StepSpec[], lost: string): string | null {
  const definitions = define(specs)
  const { order } = definitions.find(({ name }) => name === lost)!
  const resumed = resumeAt(lostIn(definitions, order), definitions)
  return resumed === null ? null : definitions[resumed - 1]!.name
}

test('a custom step is repeated when it is idempotent, and fails otherwise', () => {
  assert.equal(resumesAt([once('migrate'), again('build'), once('publish')], 'build'), 'build')
  assert.equal(resumesAt([again('build'), once('migrate')], 'migrate'), null)
})

test('a step that had not started is started, whatever it is', () => {
  const definitions = define([once('build'), once('publish')])
  assert.equal(resumeAt(lostIn(definitions, 2, 'pending'), definitions), 2)
})

test('steps before the release are repeated in place', () => {
  assert.equal(resumesAt(BUILT_IN, 'check-app-environment'), 'check-app-environment')
  assert.equal(resumesAt(BUILT_IN, 'get-new-release'), 'get-new-release')
})

test('a deploy that was interrupted while building its release starts a new one', () => {
  for (const name of ['install-dependencies', 'build-application'])
    assert.equal(resumesAt(BUILT_IN, name), 'get-new-release', name)
})

test('a switch is repeated in place, whatever ran before it', () => {
  assert.equal(resumesAt(BUILT_IN, 'activate-new-release'), 'activate-new-release')
  const steps = [...BUILT_IN.slice(0, 4), once('migrate'), ...BUILT_IN.slice(4)]
  assert.equal(resumesAt(steps, 'activate-new-release'), 'activate-new-release')
})

test('a deploy whose release is live only repeats the cleanup', () => {
  assert.equal(resumesAt(BUILT_IN, 'remove-old-releases'), 'remove-old-releases')
  const steps = [...BUILT_IN.slice(0, 5), once('notify'), BUILT_IN[5]!]
  assert.equal(resumesAt(steps, 'remove-old-releases'), 'remove-old-releases')
})

test('a health check is repeated in place, and never a step before it', () => {
  const steps = [...BUILT_IN.slice(0, 5), once('restart'), 'check-health', BUILT_IN[5]!]
  assert.equal(resumesAt(steps, 'check-health'), 'check-health')
})

test('a new release is started only when every step in between may run twice', () => {
  const withStep = (step: StepSpec) => [...BUILT_IN.slice(0, 3), step, ...BUILT_IN.slice(3)]
  assert.equal(resumesAt(withStep(again('lint')), 'build-application'), 'get-new-release')
  assert.equal(resumesAt(withStep(once('migrate')), 'build-application'), null)
  const before = [BUILT_IN[0]!, once('notify'), ...BUILT_IN.slice(1)]
  assert.equal(resumesAt(before, 'build-application'), 'get-new-release')
})

test('a deploy without a release step cannot start over', () => {
  for (const name of ['build-application', 'activate-new-release'])
    assert.equal(resumesAt(['check-app-environment', name], name), null)
})

test('a custom step inside a deploy is repeated in the existing release', () => {
  const steps = [...BUILT_IN.slice(0, 3), again('lint'), ...BUILT_IN.slice(3)]
  assert.equal(resumesAt(steps, 'lint'), 'lint')
})

test('when every step is over there is nothing to resume', () => {
  const definitions = define([again('build')])
  assert.equal(resumeAt(lostIn(definitions, 1, 'completed'), definitions), null)
})

test('no step that is not idempotent, and that has started, ever runs again', () => {
  const custom = fc.array(fc.boolean(), { maxLength: 2 })
  const deploy = fc
    .tuple(custom, custom, custom, custom, custom, custom, custom)
    .map((groups) =>
      groups.flatMap((steps, position): StepSpec[] => [
        ...steps.map((idempotent, index) => ({ name: `custom-${position}-${index}`, idempotent })),
        ...BUILT_IN.slice(position, position + 1),
      ]),
    )
  fc.assert(
    fc.property(deploy, fc.nat(), (specs, pick) => {
      const definitions = define(specs)
      const lost = (pick % definitions.length) + 1
      const resumed = resumeAt(lostIn(definitions, lost), definitions)
      if (resumed === null) return
      assert.ok(resumed <= lost)
      const repeated = definitions.slice(resumed - 1, lost)
      assert.ok(repeated.every(({ builtIn, idempotent }) => builtIn || idempotent))
    }),
  )
})
