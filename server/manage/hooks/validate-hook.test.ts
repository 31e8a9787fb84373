import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HookVariable, IncomingHookChange } from '#model/hooks/schemas.ts'
import { validateIncoming, validateOutgoing } from './validate-hook.ts'

const variable = (more: Partial<HookVariable>): HookVariable => ({
  name: 'x',
  type: 'string',
  required: false,
  ...more,
})
const errorsOf = (settings: IncomingHookChange['settings']) => validateIncoming({ settings }, 'deploy')

test('action_type must equal the operation of the pipeline', () => {
  const expected = { action_type: ['must be deploy, the operation of the pipeline'] }
  assert.deepEqual(validateIncoming({ action_type: 'restart' }, 'deploy'), expected)
})

test('an outgoing hook watches the operation of its pipeline, or with the scope resource any operation', () => {
  const resource = { trigger_when: { scope: 'resource' as const } }
  const watching = (action_type: string, scope: string) => ({ action_type, trigger_when: { scope } })
  const fits = (...input: Parameters<typeof validateOutgoing>) =>
    Object.keys(validateOutgoing(...input)).length === 0
  assert.ok(fits({ action_type: 'deploy' }, 'deploy'))
  assert.ok(!fits({ action_type: 'restart' }, 'deploy'))
  assert.ok(!fits({ action_type: 'restart', trigger_when: { scope: 'pipeline' } }, 'deploy'))
  assert.ok(fits({ action_type: 'restart', ...resource }, 'deploy'))
  assert.ok(fits({ action_type: 'restart' }, 'deploy', watching('deploy', 'resource')))
  assert.ok(!fits({ action_type: 'restart' }, 'deploy', watching('deploy', 'pipeline')))
  // A replaced trigger_when has the default scope.
  assert.ok(!fits({ trigger_when: {} }, 'deploy', watching('restart', 'resource')))
  assert.ok(fits({ trigger_when: {}, action_type: 'deploy' }, 'deploy', watching('restart', 'resource')))
  assert.ok(fits({ name: 'Renamed' }, 'deploy', watching('restart', 'resource')))
})

test('a signature cannot be in a header that HTTP clients and proxies set; a stored name stays valid', () => {
  const names =
    `Host content-type CONTENT-LENGTH Content-Encoding Transfer-Encoding Connection cookie Date User-Agent
    Accept accept-language Accept-Encoding Forwarded X-Forwarded-For x-forwarded-proto`.split(/\s+/)
  for (const secret_header_name of names) {
    const found = (stored?: { secret_header_name: string | null }) =>
      Object.keys(validateIncoming({ secret_header_name }, 'deploy', stored))
    assert.deepEqual(found(), ['secret_header_name'], secret_header_name)
    assert.deepEqual(found({ secret_header_name: 'X-Signature' }), ['secret_header_name'])
    assert.deepEqual(found({ secret_header_name: secret_header_name.toLowerCase() }), [])
  }
  for (const secret_header_name of [
    'X-Hub-Signature-256',
    'Content-Digest',
    'X-Forwarded',
    'Hostname',
    'Dates',
  ])
    assert.deepEqual(validateIncoming({ secret_header_name }, 'deploy'), {}, secret_header_name)
})

test('the signature cannot move to a header that a condition reads', () => {
  const stored = (header: string) => ({
    secret_header_name: 'X-Old',
    trigger_when: { conditions: [{ any_of: [{ header, exists: true }] }] },
  })
  const found = (header: string) =>
    validateIncoming({ secret_header_name: 'X-Sig' }, 'deploy', stored(header))
  assert.deepEqual(Object.keys(found('x-sig')), ['secret_header_name'])
  assert.deepEqual(found('X-Other'), {})
})

test('all globs of a hook together are limited, those in groups included', () => {
  const any_of = Array.from({ length: 8 }, () => ({ path: 'ref', matches: '*a'.repeat(128) }))
  const found = (...more: object[]) =>
    validateIncoming({ trigger_when: { conditions: [{ any_of }, ...more] } }, 'deploy')
  assert.deepEqual(found(), {})
  assert.deepEqual(Object.keys(found({ header: 'X-Ref', matches: 'a' })), ['trigger_when.conditions'])
})

test('variable names are unique, ignoring case', () => {
  const errors = errorsOf({ variables: [variable({ name: 'Branch' }), variable({ name: 'bRANCH' })] })
  assert.deepEqual(Object.keys(errors), ['settings.variables.1.name'])
})

test('a default value has exactly the declared type, or is null', () => {
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
      const errors = errorsOf({
        variables: [variable({ type: type as HookVariable['type'], default_value })],
      })
      assert.equal(Object.keys(errors).length === 0, fitting.includes(kind), `${kind} for ${type}`)
    }
    assert.deepEqual(
      errorsOf({ variables: [variable({ type: type as HookVariable['type'], default_value: null })] }),
      {},
    )
  }
})

test('a default value is at most 64 KiB', () => {
  const errors = errorsOf({ variables: [variable({ default_value: 'x'.repeat(70_000) })] })
  assert.deepEqual(errors, { 'settings.variables.0.default_value': ['must not be longer than 64 KiB'] })
})

test('invalid paths of variables and conditions are all reported at once', () => {
  const errors = validateIncoming(
    {
      settings: { variables: [variable({ path: 'a..b' }), variable({ name: 'y', path: 'ok' })] },
      trigger_when: { conditions: [{ path: 'x[', accepted_values: [1] }] },
    },
    'deploy',
  )
  assert.deepEqual(Object.keys(errors), ['settings.variables.0.path', 'trigger_when.conditions.0.path'])
})

test('the timestamp scheme needs a template with timestamp and body; other schemes take none', () => {
  assert.deepEqual(errorsOf({ signature: { scheme: 'body' } }), {})
  assert.deepEqual(errorsOf({ signature: { scheme: 'timestamp', template: 'v0:{timestamp}:{body}' } }), {})
  assert.deepEqual(Object.keys(errorsOf({ signature: { scheme: 'timestamp', template: '{body}' } })), [
    'settings.signature.template',
  ])
  assert.deepEqual(Object.keys(errorsOf({ signature: { scheme: 'timestamp' } })), [
    'settings.signature.template',
  ])
  assert.deepEqual(Object.keys(errorsOf({ signature: { scheme: 'token', template: '{timestamp}{body}' } })), [
    'settings.signature.template',
  ])
  assert.deepEqual(
    Object.keys(errorsOf({ signature: { scheme: 'timestamp', template: '{id}.{timestamp}.{body}' } })),
    ['settings.signature.id_header'],
  )
  const complete = {
    scheme: 'timestamp',
    template: '{id}.{timestamp}.{body}',
    id_header: 'webhook-id',
  } as const
  assert.deepEqual(errorsOf({ signature: complete }), {})
})
