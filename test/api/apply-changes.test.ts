// Applying a gantry.yaml to existing resources: changes, order, concurrent requests, pruning.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createApply, nextName, shop, summarize } from '#manage/apply/test-apply.ts'
import { openTestApp } from '#test/support/harness.ts'

const api = await openTestApp({ after })
const { db } = api
const { administrator, apply, applied } = await createApply(api)
const read = async (url: string) => (await api.request('GET', url, { token: administrator.token })).body

suite('a change', () => {
  test('reports each field before and after, and keeps fields that the document omits', async () => {
    const organization = nextName()
    const server = (more: string) =>
      shop(
        organization,
        `  live:\n    type: production\n    servers:\n      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv/, ${more}}\n`,
      )
    await applied(server('max_parallel_actions: 3'))
    const answer = await applied(server('port: 2222'))
    assert.deepEqual(answer.changes, [
      {
        verb: 'change',
        type: 'server',
        name: 'web-1',
        path: 'environments.live.servers.web-1',
        fields: [{ field: 'port', before: 22, after: 2222 }],
      },
    ])
    const { max_parallel_actions, port } = await db
      .selectFrom('servers')
      .selectAll()
      .where('port', '=', 2222)
      .executeTakeFirstOrThrow()
    assert.deepEqual([max_parallel_actions, port], [3, 2222])
  })

  test('of the order of steps moves them once', async () => {
    const organization = nextName()
    const steps = (...names: string[]) =>
      shop(
        organization,
        `  live:
    type: production
    servers:
      web-1:
        provider_code: ssh
        host: a.example.com
        login_name: deploy
        root_directory: /srv
        pipelines:
          Tidy:
            operation: custom
            steps:
${names.map((name) => `              - {name: ${name}, command: 'true'}\n`).join('')}`,
      )
    await applied(steps('one', 'two', 'three'))
    const answer = await applied(steps('three', 'one', 'two'))
    assert.deepEqual(summarize(answer), ['change environments.live.servers.web-1.pipelines.Tidy.steps.three'])
    assert.deepEqual((await applied(steps('three', 'one', 'two'))).changes, [])
    const pipeline = await db
      .selectFrom('pipelines')
      .select('id')
      .where('name', '=', 'Tidy')
      .executeTakeFirstOrThrow()
    const names = async () =>
      (await read(`/pipelines/${pipeline.id}`)).steps.map(({ name }: { name: string }) => name)
    assert.deepEqual(await names(), ['three', 'one', 'two'])
    const pruned = await applied(steps('two', 'one'), { prune: true })
    assert.deepEqual(pruned.summary, { create: 0, change: 1, delete: 1 })
    assert.deepEqual(await names(), ['two', 'one'])
  })

  test('reverses which pipeline runs after which', async () => {
    const organization = nextName()
    const pipelines = (first: string, second: string) =>
      shop(
        organization,
        `  live:
    type: production
    servers:
      web-1:
        provider_code: ssh
        host: a.example.com
        login_name: deploy
        root_directory: /srv
        pipelines:
          A: {operation: custom, run_after: [${first}]}
          B: {operation: custom, run_after: [${second}]}
`,
      )
    await applied(pipelines('B', ''))
    await applied(pipelines('', 'A'))
    assert.deepEqual((await applied(pipelines('', 'A'))).changes, [])
    const cycle = await apply(pipelines('B', 'A'))
    assert.equal(cycle.status, 422)
    assert.match(cycle.text, /cycle of pipelines/)
  })

  test('two concurrent ones are applied one after the other', async () => {
    const organization = nextName()
    const document = shop(organization, '  live: {type: production}\n')
    await applied(document)
    const more = (name: string) => `${document}  ${name}: {type: staging}\n`
    const answers = await Promise.all(['one', 'two', 'one', 'two'].map((name) => apply(more(name))))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.equal(
      answers.reduce((sum, { body }) => sum + body.summary.create, 0),
      2,
    )
  })
})

test('an organization that concurrent requests create is created once', async () => {
  const document = `organization: ${nextName()}\nproject: {name: Shop}\n`
  const answers = await Promise.all([apply(document), apply(document), apply(document)])
  for (const { status, text } of answers) assert.equal(status, 200, text)
  assert.equal(answers.filter(({ body }) => body.summary.create === 2).length, 1)
  assert.deepEqual((await applied(document)).changes, [])
})

suite('a stored resource', () => {
  const organization = nextName()
  const document = `organization: ${organization}
project: {name: Shop, logo_url: https://example.com/logo.png}
credentials:
  Gitea: {provider_code: gitea, base_url: https://git.example.com/, token: gitea-token}
environments:
  live:
    type: production
    applications:
      shop:
        repository: https://git.example.com/acme/shop.git
        credential: Gitea
        submodules: ignore
        variables: {ONE: {value: number one, hidden: true}}
        pipelines:
          Deploy:
            operation: deploy
            rollout: {batch: 1}
            hooks:
              incoming:
                Push: {requires_secret: true, secret: 0123456789abcdef, settings: {rate_limit: {per_second: 5, burst: 9}}}
              outgoing:
                Tell: {target_url: https://chat.example.com/x, settings: {request_headers: [{name: X-A, value: a}]}}
          Tidy: {operation: custom, steps: [{name: tidy, command: 'true'}]}
`
  const fieldsAfter = async (from: string, to: string) => {
    const { changes } = await applied(document.replace(from, to))
    const again = await applied(document.replace(from, to))
    assert.deepEqual(again.changes, [], 'applied twice')
    await applied(document)
    assert.deepEqual((await applied(document)).changes, [], 'and back')
    assert.equal(changes.length, 1)
    return changes[0].fields
  }

  test('does not change when only the notation differs', async () => {
    const { secrets, changes } = await applied(document)
    assert.deepEqual(secrets[0].secret, null, 'a given secret is not returned')
    assert.ok(!JSON.stringify(changes).includes('0123456789abcdef'))
    assert.deepEqual((await applied(document)).changes, [])
    const other = document
      .replace('git.example.com/,', 'GIT.example.com,')
      .replace('{batch: 1}', '{max_failed: 0, batch: 1}')
    assert.deepEqual((await applied(other)).changes, [])
  })

  test('a signature header that clients and proxies set is rejected', async () => {
    const { status, text } = await apply(
      document.replace('requires_secret: true', 'requires_secret: true, secret_header_name: Accept'),
    )
    assert.equal(status, 422)
    assert.match(text, /must not be Accept/)
  })

  test('one field of each kind changes, and changes back', async () => {
    assert.deepEqual(await fieldsAfter('https://example.com/logo.png', 'null'), [
      { field: 'logo_url', before: 'https://example.com/logo.png', after: null },
    ])
    assert.deepEqual(
      await fieldsAfter('value: number one, hidden: true', 'value: number one, hidden: false'),
      [{ field: 'hidden', before: true, after: false }],
    )
    assert.deepEqual(await fieldsAfter('value: number one,', 'value: number two,'), [
      { field: 'value', before: '********', after: '********' },
    ])
    assert.deepEqual(await fieldsAfter('secret: 0123456789abcdef', 'secret: fedcba9876543210'), [
      { field: 'secret', before: '********', after: '********' },
    ])
    assert.deepEqual(await fieldsAfter('submodules: ignore', 'submodules: fetch'), [
      { field: 'submodules', before: 'ignore', after: 'fetch' },
    ])
    assert.deepEqual(await fieldsAfter('{batch: 1}', '{batch: 50%}'), [
      {
        field: 'rollout',
        before: { batch: 1, max_failed: 0, on_failure: 'stop' },
        after: { batch: '50%', max_failed: 0, on_failure: 'stop' },
      },
    ])
    const [settings] = await fieldsAfter('burst: 9', 'burst: 8')
    assert.deepEqual([settings.before.rate_limit.burst, settings.after.rate_limit.burst], [9, 8])
    assert.deepEqual(await fieldsAfter('chat.example.com/x', 'chat.example.com/y'), [
      { field: 'target_url', before: 'https://chat.example.com/x', after: 'https://chat.example.com/y' },
    ])
    assert.deepEqual(await fieldsAfter("command: 'true'", 'command: ls, timeout_seconds: 600'), [
      { field: 'command', before: 'true', after: 'ls' },
    ])
    assert.deepEqual(await fieldsAfter('{operation: custom, steps', '{operation: restart, steps'), [
      { field: 'operation', before: 'custom', after: 'restart' },
    ])
  })

  test('the URL that a token is sent to can change together with the application that uses it', async () => {
    const moved = document.replaceAll('git.example.com', 'git.example.net')
    assert.deepEqual(summarize(await applied(moved)), [
      'change credentials.Gitea',
      'change environments.live.applications.shop',
    ])
    assert.deepEqual((await applied(moved)).changes, [])
    await applied(document)
  })

  test('stays as it is when a change is not possible', async () => {
    const { status, body } = await apply(document.replace('provider_code: gitea', 'provider_code: gitlab'))
    assert.equal(status, 422)
    assert.match(body.errors['credentials.Gitea.provider_code'][0], /^line 4, column 26: cannot be changed/)
    const used = await apply(document.replace('operation: deploy', 'operation: custom'))
    assert.equal(used.status, 409, used.text)
    assert.deepEqual((await applied(document)).changes, [])
  })

  test('an environment with unfinished runs is not pruned', async () => {
    const { id, environment_id } = await db
      .selectFrom('pipelines')
      .selectAll()
      .where('name', '=', 'Tidy')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    const action = {
      environment_id,
      pipeline_id: id,
      type: 'custom',
      status: 'queued',
      status_reason_code: 'QUEUED',
      trigger_type: 'manual',
    } as const
    await db.insertInto('actions').values(action).execute()
    const { status, body } = await apply(`organization: ${organization}\nproject: {name: Shop}\n`, {
      prune: true,
    })
    assert.equal(status, 409)
    assert.deepEqual(body.errors, {
      'environments.live': ['line 1, column 1: 1 run is not finished: wait, or cancel first.'],
    })
    assert.deepEqual((await applied(document)).changes, [])
  })
})

suite('weekly freezes', () => {
  const organization = nextName()
  const WEEKEND =
    'Weekend: {reason: Away, weekly: {from: {day: friday, time: "16:00"}, to: {day: monday, time: "08:00"}}, time_zone: Europe/Berlin}'
  const live = (freezes: string) => shop(organization, `  live:\n    type: production\n    ${freezes}\n`)

  test('are created, changed and removed; a freeze of the day stays, whatever the file says', async () => {
    assert.ok(
      summarize(await applied(live(`freezes: {${WEEKEND}}`))).includes(
        'create environments.live.freezes.Weekend',
      ),
    )
    const { id: environmentId } = await db
      .selectFrom('environments')
      .select('id')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    const path = `/environments/${environmentId}/freezes`
    const body = { name: 'Incident', reason: 'Payments fail', starts_at: '2026-01-01T00:00:00Z' }
    assert.equal((await api.request('POST', path, { token: administrator.token, body })).status, 201)
    const later = WEEKEND.replace('16:00', '17:00')
    assert.deepEqual(summarize(await applied(live(`freezes: {${later}}`), { prune: true })), [
      'change environments.live.freezes.Weekend',
    ])
    assert.deepEqual(summarize(await applied(live(''), { prune: true })), [
      'delete environments.live.freezes.Weekend',
    ])
    assert.deepEqual(
      (await read(path)).map(({ name }: { name: string }) => name),
      ['Incident'],
    )
  })

  test('of a time zone that does not exist are an error at their line', async () => {
    const { status, body } = await apply(
      live(`freezes: {${WEEKEND.replace('Europe/Berlin', 'Mars/Olympus')}}`),
    )
    assert.equal(status, 422)
    assert.match(JSON.stringify(body.errors), /time_zone/)
  })
})

suite('approvals', () => {
  const organization = nextName()
  const live = (approval: string) =>
    shop(organization, `  live:\n    type: production\n    approval: ${approval}\n`)

  test('name approvers by their email addresses and roles, and compare equal', async () => {
    const named = `{required: 1, from: {users: [${administrator.email.toUpperCase()}], roles: [owner]}}`
    await applied(live(named))
    assert.deepEqual((await applied(live(named))).changes, [])
    const { id } = await db
      .selectFrom('environments')
      .select('id')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    const { approval } = await read(`/environments/${id}`)
    assert.deepEqual(approval.from, { user_ids: [administrator.id], role_ids: [], roles: ['owner'] })
    const { changes } = await applied(live('{expires_after_minutes: 60}'))
    const [change] = changes[0].fields
    assert.deepEqual(change.before.from, { users: [administrator.email], roles: ['owner'] })
    assert.deepEqual([change.after.from, change.after.expires_after_minutes], [null, 60])
    assert.deepEqual(summarize(await applied(live('null'))), ['change environments.live'])
  })

  test('of people and roles that are not there are an error at their line', async () => {
    const errorsOf = async (from: string) => {
      const { status, body } = await apply(live(`{from: ${from}}`))
      assert.equal(status, 422)
      return JSON.stringify(body.errors)
    }
    assert.match(await errorsOf('{users: [ghost@example.com]}'), /ghost@example.com has no role/)
    assert.match(await errorsOf('{roles: [Ghosts]}'), /there is no role Ghosts/)
    assert.match(await errorsOf('{user_ids: [1]}'), /user_ids/)
  })
})

suite('pruning', () => {
  const organization = nextName()
  const full = shop(
    organization,
    `  live:
    type: production
    servers:
      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv}
      web-2: {provider_code: ssh, host: b.example.com, login_name: deploy, root_directory: /srv}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        servers: [web-1, web-2]
        variables: {ONE: '1', TWO: '2'}
        pipelines:
          Deploy:
            operation: deploy
            hooks: {incoming: {Push: {}}}
          Tidy: {operation: custom, steps: [{name: tidy, command: 'true'}]}
  test: {type: staging}
`,
  )
  const less = shop(
    organization,
    `  live:
    type: production
    servers:
      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        servers: [web-1]
        variables: {ONE: '1'}
        pipelines: {Deploy: {operation: deploy}}
`,
  )
  const other = full.replace('name: Shop', 'name: Blog')
  const gone = [
    'delete environments.live.applications.shop.pipelines.Deploy.hooks.incoming.Push',
    'delete environments.live.applications.shop.pipelines.Tidy',
    'delete environments.live.applications.shop.pipelines.Tidy.steps.tidy',
    'delete environments.live.applications.shop.variables.TWO',
    'delete environments.live.servers.web-2',
    'delete environments.test',
  ]

  test('is off by default: nothing is removed', async () => {
    await applied(full)
    await applied(other)
    const { changes } = await applied(less)
    assert.deepEqual(
      changes.map(({ path, verb }: Record<string, string>) => `${verb} ${path}`),
      ['change environments.live.applications.shop'],
    )
    await applied(full)
  })

  test('is rejected while a run is unfinished, and changes nothing', async () => {
    const pipeline = await db
      .selectFrom('pipelines')
      .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
      .innerJoin('projects', 'projects.id', 'environments.project_id')
      .innerJoin('organizations', 'organizations.id', 'projects.organization_id')
      .select(['pipelines.id', 'pipelines.environment_id'])
      .where('organizations.name', '=', organization)
      .where('projects.name', '=', 'Shop')
      .where('pipelines.name', '=', 'Tidy')
      .executeTakeFirstOrThrow()
    const action = await db
      .insertInto('actions')
      .values({
        environment_id: pipeline.environment_id,
        pipeline_id: pipeline.id,
        type: 'custom',
        status: 'queued',
        status_reason_code: 'QUEUED',
        trigger_type: 'manual',
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    for (const dry_run of [true, false]) {
      const { status, body } = await apply(less, { prune: true, dry_run })
      assert.equal(status, 409)
      assert.deepEqual(Object.keys(body.errors), ['environments.live.applications.shop.pipelines.Tidy'])
    }
    assert.deepEqual((await applied(full)).changes, [])
    await db.deleteFrom('actions').where('id', '=', action.id).execute()
  })

  test('removes what the document does not list, and nothing of another project', async () => {
    const dry = await applied(less, { prune: true, dry_run: true })
    const answer = await applied(less, { prune: true })
    assert.deepEqual(summarize(answer), summarize(dry))
    assert.deepEqual(
      summarize(answer)
        .filter((one: string) => one.startsWith('delete'))
        .sort(),
      gone,
    )
    assert.deepEqual((await applied(less, { prune: true })).changes, [])
    assert.deepEqual((await applied(other, { prune: true })).changes, [])
  })
})

test('the body of an outgoing hook keeps the order of its keys and its large integers, there and back', async () => {
  const organization = nextName()
  const hook = (body: string, more = '') =>
    shop(
      organization,
      `  live:
    type: production
    applications:
      shop:
        repository: https://git.example.com/acme/shop.git
        pipelines:
          Deploy:
            operation: deploy
            hooks: {outgoing: {Tell: {target_url: https://chat.example.com/x, settings: {request_body: ${body}}${more}}}}
`,
    )
  const body = '{z: 12345678901234567890, a: {y: -9007199254740993, b: x}}'
  const text = '{"z":12345678901234567890,"a":{"y":-9007199254740993,"b":"x"}}'
  const first = await apply(hook(body))
  assert.equal(first.status, 200, first.text)
  assert.ok(first.text.includes(text), first.text)
  assert.deepEqual((await applied(hook(body))).changes, [])
  const [{ id }] = (await read('/organizations')).filter(
    ({ name }: { name: string }) => name === organization,
  )
  const exported = await api.request('GET', `/organizations/${id}/export?project=Shop`, {
    token: administrator.token,
    headers: { accept: '*/*' },
  })
  assert.match(exported.text, /z: 12345678901234567890\n\s+a:\n\s+y: -9007199254740993\n\s+b: x\n/)
  assert.deepEqual((await applied(exported.text)).changes, [])
  const reordered = await applied(hook('{a: {y: -9007199254740993, b: x}, z: 12345678901234567890}'))
  assert.deepEqual(
    reordered.changes.map(({ fields }: { fields: { field: string }[] }) => fields.map(({ field }) => field)),
    [['settings']],
  )
  assert.deepEqual(
    (await applied(hook('{a: {y: -9007199254740993, b: x}, z: 12345678901234567890}'))).changes,
    [],
  )
  const watching = ', action_type: restart, trigger_when: {scope: resource}'
  await applied(hook(body, watching))
  const again = await api.request('GET', `/organizations/${id}/export?project=Shop`, {
    token: administrator.token,
    headers: { accept: '*/*' },
  })
  assert.match(again.text, /action_type: restart/)
  assert.deepEqual((await applied(again.text)).changes, [])
  const { status, text: problem } = await apply(hook('{z: 1e30}'))
  assert.equal(status, 422)
  assert.match(problem, /cannot be stored exactly/)
})

test('conditions and paths of an incoming hook stay as they are, there and back', async () => {
  const organization = nextName()
  const document = (paths: string) =>
    shop(
      organization,
      `  live:
    type: production
    applications:
      shop:
        repository: https://git.example.com/acme/shop.git
        pipelines:
          Deploy:
            operation: deploy
            hooks:
              incoming:
                Push:
                  trigger_when:
                    paths: ${paths}
                    conditions:
                      - {path: ref, matches: 'refs/heads/{main,release-*}'}
                      - {header: X-GitHub-Event, one_of: [push, ping]}
                      - {path: sender.type, equals: Bot, not: true}
                      - {any_of: [{path: forced, equals: false}, {path: after, exists: true}]}
                      - {path: action, accepted_values: [published]}
`,
    )
  const globs = "[api/**, '!**/*.md', 'a b/{x,y}?.ts']"
  await applied(document(globs))
  assert.deepEqual((await applied(document(globs))).changes, [])
  const [{ id }] = (await read('/organizations')).filter(
    ({ name }: { name: string }) => name === organization,
  )
  const exported = await api.request('GET', `/organizations/${id}/export?project=Shop`, {
    token: administrator.token,
    headers: { accept: '*/*' },
  })
  assert.equal(exported.status, 200, exported.text)
  for (const text of ['a b/{x,y}?.ts', '!**/*.md', 'release-*', 'X-GitHub-Event', 'any_of'])
    assert.ok(exported.text.includes(text), `${text} in\n${exported.text}`)
  assert.deepEqual((await applied(exported.text)).changes, [])
  const { changes } = await applied(document('[api/**]'))
  assert.deepEqual(
    changes.map(({ fields }: { fields: { field: string }[] }) => fields.map(({ field }) => field)),
    [['trigger_when']],
  )
})
