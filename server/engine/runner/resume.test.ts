import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import { resume } from './resume.ts'
import type { StepDefinition } from './step-definition.ts'

type Wish = string | { name: string; idempotent: boolean }

const again = (name: string): Wish => ({ name, idempotent: true })
const once = (name: string): Wish => ({ name, idempotent: false })
const BUILT_IN: string[] = DEPLOY_STEPS.map(({ name }) => name)

/** A text is a built-in step. */
function define(wishes: readonly Wish[]): StepDefinition[] {
  return wishes.map((wish, index) => ({
    order: index + 1,
    runAsUser: null,
    timeoutSeconds: 600,
    ...(typeof wish === 'string'
      ? { name: wish, builtIn: true, command: null, idempotent: false }
      : { ...wish, builtIn: false, command: 'true' }),
  }))
}

/** The steps as a worker leaves them that is lost in this one. */
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

/** The name of the step that another worker begins with, or null when it gives up. */
function goesOnAt(wishes: readonly Wish[], lost: string): string | null {
  const definitions = define(wishes)
  const { order } = definitions.find(({ name }) => name === lost)!
  const resumption = resume(lostIn(definitions, order), definitions)
  return resumption.kind === 'go-on' ? definitions[resumption.order - 1]!.name : null
}

test('a step of a person is repeated when it may be, and given up when not', () => {
  assert.equal(goesOnAt([once('migrate'), again('build'), once('publish')], 'build'), 'build')
  assert.equal(goesOnAt([again('build'), once('migrate')], 'migrate'), null)
})

test('a step that had not begun is begun, whatever it is', () => {
  const definitions = define([once('build'), once('publish')])
  assert.deepEqual(resume(lostIn(definitions, 2, 'pending'), definitions), { kind: 'go-on', order: 2 })
})

test('what comes before the release is done again where it was', () => {
  assert.equal(goesOnAt(BUILT_IN, 'check-app-environment'), 'check-app-environment')
  assert.equal(goesOnAt(BUILT_IN, 'get-new-release'), 'get-new-release')
})

test('a deploy that was making its release begins a new one', () => {
  for (const name of ['install-dependencies', 'build-application', 'activate-new-release'])
    assert.equal(goesOnAt(BUILT_IN, name), 'get-new-release', name)
})

test('a deploy whose release is live only clears up again', () => {
  assert.equal(goesOnAt(BUILT_IN, 'remove-old-releases'), 'remove-old-releases')
  const told = [...BUILT_IN.slice(0, 5), once('tell'), BUILT_IN[5]!]
  assert.equal(goesOnAt(told, 'remove-old-releases'), 'remove-old-releases')
})

test('a new release is begun only when every step in between may run twice', () => {
  const withStep = (step: Wish) => [...BUILT_IN.slice(0, 3), step, ...BUILT_IN.slice(3)]
  assert.equal(goesOnAt(withStep(again('lint')), 'build-application'), 'get-new-release')
  assert.equal(goesOnAt(withStep(once('migrate')), 'build-application'), null)
  const before = [BUILT_IN[0]!, once('tell'), ...BUILT_IN.slice(1)]
  assert.equal(goesOnAt(before, 'build-application'), 'get-new-release')
})

test('a deploy that never makes a release has none to begin anew', () => {
  assert.equal(goesOnAt(['check-app-environment', 'activate-new-release'], 'activate-new-release'), null)
})

test("a person's step inside a deploy is repeated in the release that is there", () => {
  const steps = [...BUILT_IN.slice(0, 3), again('lint'), ...BUILT_IN.slice(3)]
  assert.equal(goesOnAt(steps, 'lint'), 'lint')
})

test('when every step is over there is nothing to go on with', () => {
  const definitions = define([again('build')])
  assert.deepEqual(resume(lostIn(definitions, 1, 'completed'), definitions), { kind: 'give-up' })
})

test('no step that may run only once, and that has begun, ever runs again', () => {
  const own = fc.array(fc.boolean(), { maxLength: 2 })
  const deploy = fc
    .tuple(own, own, own, own, own, own, own)
    .map((owns) =>
      owns.flatMap((steps, place): Wish[] => [
        ...steps.map((idempotent, index) => ({ name: `own-${place}-${index}`, idempotent })),
        ...BUILT_IN.slice(place, place + 1),
      ]),
    )
  fc.assert(
    fc.property(deploy, fc.nat(), (wishes, pick) => {
      const definitions = define(wishes)
      const lost = (pick % definitions.length) + 1
      const resumption = resume(lostIn(definitions, lost), definitions)
      if (resumption.kind === 'give-up') return
      assert.ok(resumption.order <= lost)
      const repeated = definitions.slice(resumption.order - 1, lost)
      assert.ok(repeated.every(({ builtIn, idempotent }) => builtIn || idempotent))
    }),
  )
})
