// Fuzzes every route of the app: whatever is sent, by any caller, the response is never an internal error, and every
// error has the form of the contract.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { ERROR_CODES } from '#platform/http/errors.ts'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import {
  createAccessToken,
  createAction,
  createHookRequest,
  createPerson,
  createTestTree,
  grantRole,
  type TestTree,
} from '#test/support/world.ts'

/** Unsigned, so that arbitrary payloads are accepted. */
const HOOK_SETTINGS = {
  variables: [
    { name: 'branch', path: 'ref', type: 'string', required: false },
    { name: 'count', type: 'integer', required: false, default_value: 1 },
  ],
}
const RUNS = 1_500
/** The first is fixed; the other is reported when something fails. */
const SEEDS = [20_261_115, Math.floor(Math.random() * 2 ** 31)]

const { app, db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const actionId = await createAction(db, tree)
/** For requests that may damage it. */
let spare = await createSpareTree()
const administrator = await createPerson(db, { admin: true })
const bystander = await createPerson(db)
let urlToken = ''
const hooks = { incoming: await createHook('incoming'), outgoing: await createHook('outgoing') }
const hookRequestId = await createHookRequest(db, await createHook('incoming'), 'incoming')

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  pattern?: string
  format?: string
  minLength?: number
}
type Operation = {
  parameters?: { name: string; in: string; schema: Schema }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
}
const document = app.swagger() as unknown as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const strangeText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 10 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    '\u202e',
    '__proto__',
    'constructor',
    'null',
    '-0',
    '1e308',
    "'; drop table users; --",
    '{{ 7 | times: 7 }}',
    '{% for i in (1..9999999) %}',
    '../../etc/passwd',
    'http://169.254.169.254/',
    'https://[::1',
    '(((((a+)+)+)+)+)+$',
    '9'.repeat(400),
    'é'.repeat(3_000),
    '2026-11-15T00:00:00+23:59',
    '9999-12-31T23:59:59-23:59',
  ),
)
const strangeNumber = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(0, -0, -1, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 63), 1e308, 5e-324, 0.1),
)
const junk = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    strangeText,
    strangeNumber,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(strangeText, tie('value'), { maxKeys: 4 }),
  ),
})).value

/** Mostly what the schema requires, with a few deviations, so that errors behind the validation are found. */
function near(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  const wanted = validFor(schema, depth)
  return fc.oneof({ weight: 60, arbitrary: wanted }, { weight: 1, arbitrary: junk })
}

function validFor(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (depth > 6) return fc.constant(null)
  if (schema.$ref) return near(document.components.schemas[schema.$ref.split('/').at(-1)!]!, depth + 1)
  if (schema.enum) {
    // The first is the most common.
    return fc.oneof(
      { weight: 4, arbitrary: fc.constant(schema.enum[0]) },
      { weight: 1, arbitrary: fc.constantFrom(...schema.enum) },
    )
  }
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => near(one, depth + 1)))
  switch ([schema.type ?? 'any'].flat()[0]) {
    case 'object':
      return objectNear(schema, depth)
    case 'array':
      return fc.array(near(schema.items ?? {}, depth + 1), { maxLength: 3 })
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof(
        { weight: 12, arbitrary: fc.integer({ min: 1, max: 30 }) },
        { weight: 1, arbitrary: strangeNumber },
      )
    case 'string':
      return fc.oneof(
        { weight: 24, arbitrary: textFor(schema) },
        { weight: 1, arbitrary: fc.constant('https://example.com/a') },
        { weight: 1, arbitrary: strangeText },
      )
    default:
      return junk
  }
}

function textFor({ pattern, format, minLength = 1 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const bounds = { min: new Date('2020-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }
    return fc.date(bounds).map((date) => date.toISOString())
  }
  const wanted = pattern ?? `^[a-z][\\w.[\\]"\\\\-]{${minLength - 1},${minLength + 20}}$`
  // Exceptions are left out of what is generated: fast-check cannot look ahead.
  return fc
    .stringMatching(new RegExp(wanted.replaceAll(/\(\?!(?:[^()]|\([^()]*\))*\)/g, '')))
    .filter((text) => new RegExp(wanted).test(text))
}

function objectNear({ properties, required }: Schema, depth: number): fc.Arbitrary<unknown> {
  if (!properties) return fc.dictionary(strangeText, junk, { maxKeys: 3 })
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, near(field, depth + 1)]),
  )
  const whole = fc.record(fields, { requiredKeys: required ?? [] })
  return fc.oneof(
    { weight: 20, arbitrary: whole },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(whole, strangeText, junk)
        .map(([object, name, value]) => ({ ...object, [name]: value })),
    },
  )
}

const headers = fc.dictionary(
  fc.constantFrom(
    'accept',
    'content-type',
    'if-match',
    'user-agent',
    'origin',
    'x-forwarded-for',
    'cookie',
    'expect',
  ),
  fc.oneof(
    fc.constantFrom(
      '*/*',
      'application/json',
      'text/html',
      'application/json; charset=',
      '"1"',
      '*',
      '""',
      ',;=',
      '::1',
    ),
    fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) }),
  ),
  { maxKeys: 2 },
)

type Sent = {
  method: string
  url: string
  token?: string
  headers: Record<string, string>
  rawBody?: string | Buffer
}

/** A path parameter: an existing object, or an arbitrary value. */
const realThings: [RegExp, () => string][] = [
  [/^\/hooks\/:/, () => urlToken],
  [/^\/hook-requests\//, () => hookRequestId],
  [/^\/hooks\/incoming\//, () => hooks.incoming],
  [/^\/hooks\/outgoing\//, () => hooks.outgoing],
  [/^\/organizations\//, () => String(spare.organizationId)],
  [/^\/projects\//, () => String(spare.projectId)],
  [/^\/environments\//, () => String(spare.environmentId)],
  [/^\/credentials\//, () => String(spare.credentialId)],
  [/^\/(pipelines\/|resource-links\/)?servers?\//, () => String(spare.serverIds[0])],
  [/^\/(pipelines\/|resource-links\/)?applications?\//, () => String(spare.applicationId)],
  [/^\/pipelines\/:id(\/steps.*)?$/, () => String(spare.serverPipelineId)],
  [/^\/pipelines\//, () => String(tree.pipelineId)],
  [/^\/actions\//, () => String(actionId)],
  [/^\/users\/:id/, () => String(bystander.id)],
]

const escaped = (text: string) => encodeURIComponent(text.toWellFormed())

function requestTo({ method, url }: { method: string; url: string }): fc.Arbitrary<Sent> {
  const path = url.replaceAll(/:(\w+)/g, '{$1}')
  const operation = document.paths[path]?.[method.toLowerCase()] ?? {}
  const parts = url.split('/').map((part): fc.Arbitrary<string> => {
    if (!part.startsWith(':')) return fc.constant(part)
    const real = realThings.find(([start]) => start.test(url))?.[1] ?? (() => '1')
    const strange = fc.oneof(
      strangeText.map(escaped),
      fc.constantFrom('0', '-1', '2147483648', '9007199254740991', '%', '%00'),
    )
    return fc.oneof({ weight: 8, arbitrary: fc.constant(null).map(real) }, { weight: 1, arbitrary: strange })
  })
  const known = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name)
  const parameter = fc.tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('page', ...known) },
      { weight: 1, arbitrary: strangeText },
    ),
    fc.oneof(
      fc.constantFrom(
        '1',
        '2,3',
        'true',
        'failed',
        'deploy',
        '2026-11-15T00:00:00Z',
        '2026-11-15',
        ',',
        hooks.incoming,
      ),
      strangeText,
      strangeNumber.map(String),
    ),
  )
  const query = fc
    .array(parameter, { maxLength: 3 })
    .map((pairs) => pairs.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&'))
  const schema = operation.requestBody?.content['application/json'].schema
  const json = (
    schema ? fc.oneof({ weight: 6, arbitrary: near(schema) }, { weight: 1, arbitrary: junk }) : junk
  ).map((value) => JSON.stringify(value))
  const body = fc.oneof(
    { weight: 12, arbitrary: json },
    { weight: 1, arbitrary: strangeText },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.nat(200).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
  )
  const takesBody = !['GET', 'HEAD'].includes(method)
  const someToken = fc.oneof(
    { weight: 10, arbitrary: fc.constant(tree.owner.token) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, '', 'gty_at_x', `${tree.owner.token}x`) },
  )
  return fc.record({
    method: fc.constant(method),
    url: fc.tuple(...parts).chain((path) => query.map((text) => path.join('/') + (text && `?${text}`))),
    token: someToken,
    headers: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
    rawBody: takesBody ? fc.option(body, { freq: 12, nil: undefined }) : fc.constant(undefined),
  })
}

/** Routes with a body can fail in more ways. */
function weighted(route: { method: string; url: string }) {
  const weight = route.method === 'HEAD' ? 1 : ['POST', 'PUT'].includes(route.method) ? 8 : 3
  return { weight, arbitrary: requestTo(route) }
}

async function send(sent: Sent): Promise<Answer> {
  // Managing users takes an administrator, and signing out ends the token.
  const isManaging = /^\/users(\?|\/[^/?]+(\?|$)|\/[^/]+\/password-reset)/.test(sent.url)
  const user = isManaging ? administrator : /^\/users\/me/.test(sent.url) ? bystander : tree.owner
  const losesToken = /^\/(users\/(logout|me)|session)/.test(sent.url)
  const needsToken = sent.token === tree.owner.token && (losesToken || isManaging)
  const token = needsToken ? await createAccessToken(db, user.id) : sent.token
  return request(sent.method, sent.url, { ...sent, token })
}

function check(sent: Sent, answer: Answer): void {
  // Pages that are not built yet respond with a notice, and guides that do not exist with a page.
  if (/^\/(app|docs\/guides)/.test(sent.url) && answer.status === 503) return
  if (sent.url.startsWith('/docs/guides') && answer.status === 404) return
  assert.ok(answer.status < 500, `${sent.method} ${sent.url}: ${answer.status} ${answer.text}`)
  assert.ok(answer.headers['x-request-id'])
  if (answer.status < 400 || sent.method === 'HEAD') return
  const { message, errors, code, request_id, ...more } = answer.body
  assert.deepEqual(more, {})
  assert.equal(typeof message, 'string')
  assert.equal(ERROR_CODES[code as keyof typeof ERROR_CODES], answer.status)
  assert.equal(request_id, answer.headers['x-request-id'])
  if (code === 'invalid') assert.notEqual(errors, null)
  // Conflicts and unknown ids are reported by field, too.
  if (!['invalid', 'conflict', 'not_found', 'forbidden'].includes(code)) assert.equal(errors, null)
  if (errors !== null) assert.ok(Object.values<string[]>(errors).flat().length > 0)
}

/** Restores the data: what was removed comes back, what was created is removed. */
async function restoreData(sent: Sent, answer: Answer): Promise<void> {
  if (sent.method === 'DELETE' && answer.status === 204) {
    if (sent.url.startsWith('/hooks/incoming')) hooks.incoming = await createHook('incoming')
    if (sent.url.startsWith('/hooks/outgoing')) hooks.outgoing = await createHook('outgoing')
    if (!sent.url.startsWith('/hooks/')) spare = await createSpareTree()
  }
  if (sent.method === 'PUT' && sent.url.startsWith('/users/'))
    await db.updateTable('users').set({ active: true }).where('active', '=', false).execute()
  if (answer.status === 201 && sent.url.startsWith('/pipelines') && sent.url.includes('/hooks/')) {
    await db.deleteFrom('hooks').where('id', '=', answer.body.id).execute()
  }
}

async function createSpareTree(): Promise<TestTree> {
  const made = await createTestTree(db)
  await grantRole(db, tree.owner.id, 'owner', { organizationId: made.organizationId })
  return made
}

async function createHook(type: 'incoming' | 'outgoing'): Promise<string> {
  const body =
    type === 'incoming'
      ? { name: 'In', settings: HOOK_SETTINGS }
      : { name: 'Out', target_url: 'https://example.com' }
  const answer = await request('POST', `/pipelines/${tree.pipelineId}/hooks/${type}`, {
    token: tree.owner.token,
    body,
  })
  if (type === 'incoming') urlToken = new URL(answer.body.url).pathname.split('/')[2]!
  return answer.body.id
}

suite('no request whatsoever is answered with a fault of ours', () => {
  for (const seed of SEEDS) {
    test(`seed ${seed}`, async () => {
      const statuses = new Map<number, number>()
      await fc.assert(
        fc.asyncProperty(fc.oneof(...app.accessTable.map(weighted)), async (sent) => {
          const answer = await send(sent)
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          check(sent, answer)
          await restoreData(sent, answer)
        }),
        { seed, numRuns: RUNS, includeErrorInReport: true },
      )
      // Some of the requests succeeded.
      for (const status of [200, 201, 204, 400, 401, 404, 422])
        assert.ok(statuses.has(status), `no ${status}`)
    })
  }
})
