// Documents that cannot be applied: each is rejected with everything that is wrong, where it is, and changes nothing.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'
import { createApply } from '#manage/apply/test-apply.ts'
import { openTestApp } from '#test/support/harness.ts'

const api = await openTestApp({ after })
const { db } = api
const { administrator, apply, rejected } = await createApply(api)

const HEAD = 'organization: Acme\nproject: {name: Shop}\n'
const live = (lines: string) => `${HEAD}environments:\n  live:\n    type: production\n${lines}`

suite('errors come with line and column', () => {
  test('all schema errors at once', async () => {
    const document = live(`    servers:
      web-1:
        provider_code: ssh
        host: web-1.example.com
        login_name: deploy
        root_directory: /srv
        port: '22'
        prot: 22
      web-2:
        provider_code: telnet
    applications:
      shop:
        repository: https://git.example.com/shop.git
        variables:
          1ST: one
        pipelines:
          Deploy: {operation: deploy, hooks: {outgoing: {Tell: {}}}}
`)
    const servers = 'environments.live.servers'
    const shop = 'environments.live.applications.shop'
    const errors = await rejected(document)
    assert.deepEqual(errors[`${servers}.web-1.port`], ['line 12, column 15: must be an integer or null'])
    assert.match(
      errors[`${servers}.web-1.prot`]![0]!,
      /^line 13, column 9: is not recognized; expected: provider_code/,
    )
    assert.deepEqual(errors[`${servers}.web-2.provider_code`], [
      'line 15, column 24: must be one of: local, ssh',
    ])
    assert.deepEqual(errors[`${servers}.web-2.root_directory`], ['line 15, column 9: is required'])
    assert.match(errors[`${shop}.variables.1ST`]![0]!, /^line 20, column 11: must begin with a letter/)
    assert.deepEqual(errors[`${shop}.pipelines.Deploy.hooks.outgoing.Tell.target_url`], [
      'line 22, column 64: is required',
    ])
    assert.equal(Object.keys(errors).length, 6)
  })

  test('hidden variables that are too short', async () => {
    const document = (value: string) =>
      live(`    applications:
      shop:
        repository: https://git.example.com/shop.git
        variables: {PIN: {value: '${value}', hidden: true}}
`)
    const errors = await rejected(document('12345'))
    const field = 'environments.live.applications.shop.variables.PIN.value'
    assert.deepEqual(Object.keys(errors), [field])
    assert.match(errors[field]![0]!, /^line 9, column 34: a hidden value must have at least 6 characters/)
  })

  test('names that cannot be resolved', async () => {
    const errors = await rejected(
      live(`    servers:
      web-1:
        {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv, credential: Nope}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        servers: [web-1, web-9]
        pipelines:
          Deploy:
            operation: deploy
            run_after: [Nope, {server: web-1, pipeline: Nope}]
            steps:
              - {name: migrate, command: 'true', trigger_after: nope}
              - {name: install-dependencies, timeout_seconds: 900, command: 'true'}
              - {name: twice, command: 'true'}
              - {name: twice}
`),
    )
    const shop = 'environments.live.applications.shop'
    assert.deepEqual(errors, {
      'environments.live.servers.web-1.credential': [
        'line 8, column 105: is not a credential that you can view in this organization',
      ],
      [`${shop}.servers.1`]: ['line 12, column 26: is not a server in this environment'],
      [`${shop}.pipelines.Deploy.run_after.0`]: ['line 16, column 25: is not a pipeline in this environment'],
      [`${shop}.pipelines.Deploy.run_after.1`]: ['line 16, column 31: is not a pipeline in this environment'],
      [`${shop}.pipelines.Deploy.steps.0.trigger_after`]: [
        'line 18, column 65: is not a step of this pipeline, or is listed below migrate',
      ],
      [`${shop}.pipelines.Deploy.steps.1.command`]: ['line 19, column 68: is fixed for built-in steps'],
      [`${shop}.pipelines.Deploy.steps.2.name`]: [
        'line 20, column 24: is used by another step of this pipeline',
      ],
      [`${shop}.pipelines.Deploy.steps.3.command`]: ['line 21, column 17: is required'],
    })
  })

  test('a resource that references an invalid one is not checked until that one is valid', async () => {
    const errors = await rejected(`${HEAD}credentials:
  Bad: {provider_code: gitea, token: x}
environments:
  live:
    type: production
    servers:
      bad: {provider_code: ssh, root_directory: /srv, pipelines: {Deploy: {operation: deploy}}}
      key: {provider_code: ssh, host: a, login_name: b, root_directory: /srv, credential: Bad}
    applications:
      shop: {repository: 'https://git.example.com/x.git', servers: [bad], variables: {PATH: x}}
      blog:
        repository: https://git.example.com/x.git
        credential: Bad
        pipelines: {Deploy: {operation: deploy, run_after: [{server: bad, pipeline: Deploy}]}}
`)
    assert.deepEqual(Object.keys(errors), [
      'credentials.Bad.base_url',
      'environments.live.servers.bad.host',
      'environments.live.servers.bad.login_name',
    ])
  })

  test('everything that the single routes would reject; and nothing is changed, however late the error is', async () => {
    const servers = Array.from(
      { length: 40 },
      (_, index) =>
        `      web-${index}: {provider_code: ssh, host: a.example.com, login_name: d, root_directory: /srv}\n`,
    ).join('')
    const document = live(`    servers:
${servers}      bad: {provider_code: ssh, root_directory: /srv/..}
    applications:
      shop:
        repository: git@git.example.com:shop.git
        root_directory: ../elsewhere
        servers: [web-1]
      blog:
        repository: https://git.example.com/blog.git
        variables: {PATH: /bin}
        pipelines:
          Deploy:
            operation: deploy
            hooks:
              incoming:
                Push:
                  settings: {variables: [{name: a, path: 'a..b', type: string, required: true}]}
              outgoing:
                Tell: {target_url: 'http://127.0.0.1/x', settings: {request_body: {text: '{{ nope }}'}}}
`)
    const errors = await rejected(document)
    assert.deepEqual(Object.keys(errors).sort(), [
      'environments.live.applications.blog.pipelines.Deploy.hooks.incoming.Push.settings.variables.0.path',
      'environments.live.applications.blog.pipelines.Deploy.hooks.outgoing.Tell.settings.request_body.text',
      'environments.live.applications.blog.pipelines.Deploy.hooks.outgoing.Tell.target_url',
      'environments.live.applications.blog.variables.PATH',
      'environments.live.applications.shop.root_directory',
      'environments.live.servers.bad.host',
      'environments.live.servers.bad.login_name',
      'environments.live.servers.bad.root_directory',
    ])
    assert.match(errors['environments.live.applications.shop.root_directory']![0]!, /^line 51, column 25: /)
    assert.deepEqual(await db.selectFrom('organizations').select('id').execute(), [])
    assert.deepEqual(await db.selectFrom('audit_entries').select('id').execute(), [])
  })
})

suite('values', () => {
  const document = `${HEAD}credentials:\n  GitHub: {provider_code: github, token: '\${TOKEN}'}\n`

  test('that are missing are errors where they are used, whatever the environment of the server has', async () => {
    process.env.TOKEN = 'from the environment'
    assert.deepEqual(await rejected(document), {
      'credentials.GitHub.token': [`line 4, column 42: uses \${TOKEN}, which is not in values`],
    })
    delete process.env.TOKEN
    assert.deepEqual(await rejected(document, { values: { constructor: 'x' } }), await rejected(document))
  })

  test('are not allowed in names, and an unterminated placeholder is an error', async () => {
    const errors = await rejected(
      `organization: \${NAME}\nproject: {name: "a \${NAME}", logo_url: "https://example.com/\${"}\n`,
      { values: { NAME: 'Acme' } },
    )
    assert.match(errors['project.logo_url']![0]!, /^line 2, column 40: has \$\{ without a name/)
    const names = await rejected(`organization: \${NAME}\nproject: {name: "a \${NAME}"}\n`, {
      values: { NAME: 'Acme' },
    })
    assert.deepEqual(Object.keys(names), ['organization', 'project.name'])
  })

  test('are not repeated in errors, and are not expanded again', async () => {
    const { text, status } = await apply(
      live(
        `    servers:
      web-1: {provider_code: ssh, host: '\${HOST}', login_name: d, root_directory: /srv}
    applications:
      shop: {repository: '\${REPOSITORY}'}
`,
      ),
      { values: { HOST: 'not-shown.example.com', REPOSITORY: `ext::not-shown-either \${HOST}` } },
    )
    assert.equal(status, 422, text)
    assert.ok(!text.includes('not-shown'), text)
  })

  test('with an invalid name are an error of the request body', async () => {
    const errors = await rejected(document, { values: { 'a-b': 'x' } })
    assert.ok(errors.values)
  })
})

suite('an unreadable document', () => {
  const cases: [string, string, RegExp][] = [
    ['tabs', 'organization: Acme\nproject:\n\tname: x\n', /^line 3, column 1: Tabs are not allowed/],
    ['two documents', `${HEAD}---\n${HEAD}`, /^line 3, column 1: a second document starts here/],
    ['a tag', `organization: !env ACME\nproject: {name: Shop}\n`, /^line 1, column \d+: tags/],
    ['a known tag', `organization: !!str Acme\nproject: {name: Shop}\n`, /^line 1, column \d+: tags/],
    ['a directive', `%YAML 1.1\n---\n${HEAD}`, /directives/],
    [
      'a merge key',
      `x: &x {name: Shop}\norganization: Acme\nproject:\n  <<: *x\n`,
      /^line 4, column 3: merge keys/,
    ],
    ['an alias of nothing', 'organization: *nope\n', /^line 1, column 15: there is no anchor &nope/],
    ['an anchor in itself', 'organization: &a [*a]\n', /contains itself/],
    ['a list as a key', '? [a]\n: b\n', /a key must be a plain string/],
    ['no end', 'organization: "Acme\n', /quote/],
    ['depth', `organization: ${'['.repeat(40_000)}`, /nested too deeply/],
    ['some depth', `organization: ${'['.repeat(70)}${']'.repeat(70)}`, /nested deeper than 64/],
    ['very many tokens', `organization: ${'['.repeat(1_000_000)}`, /more than 100000 tokens/],
    ['very many escapes', `organization: "${'\\x'.repeat(500_000)}"`, /more than 100000 tokens/],
    [
      'few lines that expand to many',
      `a: &a [${Array(9).fill('x').join(', ')}]\n${'bcdefghi'
        .split('')
        .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(', ')}]\n`)
        .join('')}`,
      /expand to more than/,
    ],
  ]
  for (const [what, document, message] of cases) {
    test(`${what}: rejected with a clear message`, async () => {
      const errors = await rejected(document)
      assert.match(errors.document![0]!, message)
    })
  }

  test('duplicate keys and unstorable values are reported by their path', async () => {
    assert.deepEqual(
      await rejected('organization: Acme\nproject: {name: Shop, name: Shop}\norganization: Acme\n'),
      {
        'project.name': ['line 2, column 23: is a duplicate key'],
        organization: ['line 3, column 1: is a duplicate key'],
      },
    )
    const errors = await rejected('organization: "a\\0b"\nproject: {name: "\\uD800"}\n__proto__: 1\n')
    assert.match(errors.organization![0]!, /U\+0000/)
    assert.match(errors['project.name']![0]!, /surrogate/)
    assert.match(new Map(Object.entries(errors)).get('__proto__')![0]!, /is not a valid name/)
    const numbers = await rejected('organization: 12345678901234567890\nproject: {name: .inf}\n')
    assert.match(numbers.organization![0]!, /quote it/)
  })

  test('an empty document, a string, a list and a number are not objects', async () => {
    for (const document of ['# nothing\n', 'Acme', '- Acme', '7'])
      assert.match((await rejected(document)).document![0]!, /^line 1, column 1: must be an object$/)
  })

  test('more than 1 MiB is too large', async () => {
    const large = await apply(`# ${'x'.repeat(1024 * 1024)}`)
    assert.equal(large.status, 413)
    const rawBody = JSON.stringify({ document: 'x'.repeat(10 * 1024 * 1024) })
    const { status } = await api.request('POST', '/apply', { token: administrator.token, rawBody })
    assert.equal(status, 413)
  })

  test('more than 5,000 resources are too many', async () => {
    const environments = Array.from({ length: 5_000 }, (_, index) => `  e${index}: {type: staging}\n`).join(
      '',
    )
    assert.match(
      (await rejected(`${HEAD}environments:\n${environments}`)).document![0]!,
      /more than 5000 resources/,
    )
  })
})

test('anchors and aliases are resolved, and names may look like numbers', async () => {
  const document = live(`    servers:
      01: &web
        provider_code: ssh
        host: a.example.com
        login_name: deploy
        root_directory: /srv
      'on': *web
`)
  const { status, body, text } = await apply(document)
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.changes.slice(3).map(({ path }: { path: string }) => path),
    ['environments.live.servers.01', 'environments.live.servers.on'],
  )
  assert.deepEqual((await apply(document)).body.changes, [])
})

test('several resources with one name: applying is rejected', async () => {
  const document = live(`    servers:
      one:
        provider_code: ssh
        host: a.example.com
        login_name: deploy
        root_directory: /srv
        pipelines: {Tidy: {operation: custom}}
`).replace('Acme', 'Twins')
  assert.equal((await apply(document)).status, 200)
  const { id } = await db
    .selectFrom('servers')
    .select('id')
    .where('name', '=', 'one')
    .executeTakeFirstOrThrow()
  const duplicate = { name: 'Tidy', operation: 'custom' }
  const created = await api.request('POST', `/pipelines/server/${id}`, {
    token: administrator.token,
    body: duplicate,
  })
  assert.equal(created.status, 201)
  const { status, body } = await apply(document)
  assert.equal(status, 409)
  assert.deepEqual(body.errors, {
    'environments.live.servers.one.pipelines.Tidy': [
      'line 12, column 21: several pipelines have this name: rename them first',
    ],
  })
  for (const name of ['Twins', 'Other']) {
    const again = await api.request('POST', '/organizations', { token: administrator.token, body: { name } })
    assert.equal(again.status, 201)
  }
  assert.match((await rejected(document)).organization![0]!, /several organizations have this name/)
  const bySlug = await apply('organization: twins-2\nproject: {name: Shop}\n')
  assert.deepEqual(bySlug.body.summary, { create: 1, change: 0, delete: 0 })
})

test('editors get the schema that documents are validated with', async () => {
  const { status, body } = await api.request('GET', '/gantry.schema.json')
  assert.equal(status, 200)
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(body)
  const fine = live(`    servers:
      web-1: {provider_code: ssh, host: '\${HOST}', login_name: d, root_directory: /srv}
    applications:
      shop:
        repository: x/y
        pipelines:
          Deploy:
            operation: deploy
            hooks:
              incoming: {Push: {trigger_when: {conditions: [{path: ref, accepted_values: [main]}]}}}
`)
  assert.ok(validate(parse(fine)), ajv.errorsText(validate.errors))
  assert.ok(!validate(parse(fine.replace('ref', 'ref, extra: 1'))))
  assert.ok(!validate(parse(fine.replace('login_name', 'login'))))
})
