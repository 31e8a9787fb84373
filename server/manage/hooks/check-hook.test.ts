import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HookVariable, IncomingHookChange } from '#model/hooks/schemas.ts'
import { checkIncoming, checkOutgoing } from './check-hook.ts'

const variable = (more: Partial<HookVariable>): HookVariable => ({
  name: 'x',
  type: 'string',
  required: false,
  ...more,
})
const faultsOf = (settings: IncomingHookChange['settings']) => checkIncoming({ settings }, 'deploy')

test('a hook must be of the kind of action that its pipeline runs', () => {
  const expected = { action_type: ['must be deploy, the operation of the pipeline'] }
  assert.deepEqual(checkIncoming({ action_type: 'restart' }, 'deploy'), expected)
  assert.deepEqual(checkOutgoing({ action_type: 'restart' }, 'deploy'), expected)
  assert.deepEqual(checkOutgoing({ action_type: 'deploy' }, 'deploy'), {})
})

test('two variables must not differ in upper and lower case alone', () => {
  const faults = faultsOf({ variables: [variable({ name: 'Branch' }), variable({ name: 'bRANCH' })] })
  assert.deepEqual(Object.keys(faults), ['settings.variables.1.name'])
})

test('a default value has exactly the declared type, or is null for none', () => {
  const values = {
    string: 'a',
    integer: 3,
    boolean: true,
    array: [1],
    float: 1.5,
    unsafe: 2 ** 53,
    object: {},
  }
  const accepted = { string: ['string'], integer: ['integer'], boolean: ['boolean'], array: ['array'] }
  for (const [type, fitting] of Object.entries(accepted)) {
    for (const [kind, default_value] of Object.entries(values)) {
      const faults = faultsOf({
        variables: [variable({ type: type as HookVariable['type'], default_value })],
      })
      assert.equal(Object.keys(faults).length === 0, fitting.includes(kind), `${kind} for ${type}`)
    }
    assert.deepEqual(
      faultsOf({ variables: [variable({ type: type as HookVariable['type'], default_value: null })] }),
      {},
    )
  }
})

test('a default value is at most 64 KiB', () => {
  const faults = faultsOf({ variables: [variable({ default_value: 'x'.repeat(70_000) })] })
  assert.deepEqual(faults, { 'settings.variables.0.default_value': ['must not be longer than 64 KiB'] })
})

test('faults in paths of variables and conditions are all reported at once', () => {
  const faults = checkIncoming(
    {
      settings: { variables: [variable({ path: 'a..b' }), variable({ name: 'y', path: 'ok' })] },
      trigger_when: { conditions: [{ path: 'x[', accepted_values: [1] }] },
    },
    'deploy',
  )
  assert.deepEqual(Object.keys(faults), ['settings.variables.0.path', 'trigger_when.conditions.0.path'])
})

test('the timestamp scheme needs a template that covers time and body; others take none', () => {
  assert.deepEqual(faultsOf({ signature: { scheme: 'body' } }), {})
  assert.deepEqual(faultsOf({ signature: { scheme: 'timestamp', template: 'v0:{timestamp}:{body}' } }), {})
  assert.deepEqual(Object.keys(faultsOf({ signature: { scheme: 'timestamp', template: '{body}' } })), [
    'settings.signature.template',
  ])
  assert.deepEqual(Object.keys(faultsOf({ signature: { scheme: 'timestamp' } })), [
    'settings.signature.template',
  ])
  assert.deepEqual(Object.keys(faultsOf({ signature: { scheme: 'token', template: '{timestamp}{body}' } })), [
    'settings.signature.template',
  ])
  assert.deepEqual(
    Object.keys(faultsOf({ signature: { scheme: 'timestamp', template: '{id}.{timestamp}.{body}' } })),
    ['settings.signature.id_header'],
  )
  const complete = {
    scheme: 'timestamp',
    template: '{id}.{timestamp}.{body}',
    id_header: 'webhook-id',
  } as const
  assert.deepEqual(faultsOf({ signature: complete }), {})
})
