// Runs end to end: Gantry's own processes, real git repositories, and servers to deploy to. What the API cannot
// create yet is inserted into the database.
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Insertable } from 'kysely'
import { type ConnectionSettings, openDatabase } from '#platform/database/connect.ts'
import type { PipelinesTable, ServersTable } from '#platform/database/tables.ts'
import { createTestDatabase, urlOf } from './database.ts'
import { createGate } from './gate.ts'
import { BUILT_IN, type StepInput } from './inventory.ts'
import { later } from './later.ts'
import {
  ADMIN_ENVIRONMENT,
  call,
  type GantryProcess,
  type Program,
  startGantry,
  temporaryHome,
} from './process.ts'
import { processesAt } from './processes-at.ts'
import { type ApplicationInput, createInventory } from './run-inventory.ts'
import { until } from './until.ts'
import { createPerson } from './world.ts'

type Closer = { after(fn: () => Promise<void>): void }
// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Json = any

export type Deployable = {
  environmentId: number
  serverIds: number[]
  applicationId: number
  pipelineId: number
  /** The folder of the application on each server. */
  bases: string[]
}

export type RunWorld = Awaited<ReturnType<typeof openRunWorld>>

/** `roles`: the processes to start with. */
export async function openRunWorld(
  t: Closer,
  options: {
    roles?: ('all' | 'api' | 'worker')[]
    environment?: Record<string, string>
    /** A separate server, to stop and start; by default a database of the test run. */
    database?: ConnectionSettings & { host: string; user: string; port?: number }
    /** Of the processes to start with; by default that of this checkout. */
    program?: Program
  } = {},
) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-runs-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  // As root, steps run under other accounts.
  await chmod(folder, 0o755)
  const notes = join(folder, 'notes')
  await mkdir(notes)
  await chmod(notes, 0o777)

  const database = options.database ?? (await databaseOf(t))
  const key = randomBytes(32)
  const home = await temporaryHome(t)
  const environment = {
    GANTRY_HOME: home,
    DATABASE_URL: urlOf(database),
    GANTRY_SECRET_KEY: key.toString('hex'),
    GANTRY_SAMPLE: 'false',
    ...ADMIN_ENVIRONMENT,
    ...options.environment,
  }
  const start = (role: string, more: Record<string, string> = {}, program?: Program) =>
    startGantry(t, { ...environment, GANTRY_ROLE: role, ...more }, undefined, program)
  const [first = 'all', ...others] = options.roles ?? []
  // The first one migrates an empty database.
  const processes: GantryProcess[] = [await start(first, {}, options.program)]
  processes.push(...(await Promise.all(others.map((role) => start(role, {}, options.program)))))
  const opened = openDatabase(database, { onIdleError: () => {} })
  later(t, () => opened.close())
  const { db } = opened
  const api = processes.find(({ url }) => url !== undefined)!
  const inventory = await createInventory(db, { key, folder, admin: await createPerson(db, { admin: true }) })

  function ask(method: string, path: string, body?: unknown) {
    return call(api, method, path, { token: inventory.owner.token, body })
  }

  /** A separate application with its repository, servers and pipeline. */
  async function makeDeployable(input: {
    repository: string
    servers?: number | (Partial<Insertable<ServersTable>> & { root_directory: string })[]
    steps?: StepInput[]
    application?: ApplicationInput
    pipeline?: Partial<Insertable<PipelinesTable>>
    environmentId?: number
  }): Promise<Deployable> {
    const { servers: wanted = 1 } = input
    const environmentId = input.environmentId ?? (await inventory.makeEnvironment())
    const servers =
      typeof wanted === 'number' ? Array.from({ length: wanted }, () => inventory.newLocalServer()) : wanted
    const serverIds: number[] = []
    for (const server of servers) serverIds.push(await inventory.makeServer(environmentId, server))
    const applicationId = await inventory.makeApplication(environmentId, serverIds, {
      repository: input.repository,
      ...input.application,
    })
    const pipelineId = await inventory.makePipeline(environmentId, input.steps ?? BUILT_IN, {
      resource_type: 'application',
      application_id: applicationId,
      operation: 'deploy',
      ...input.pipeline,
    })
    const bases = servers.map(({ root_directory }) => join(root_directory, 'shop'))
    return { environmentId, serverIds, applicationId, pipelineId, bases }
  }

  /** A pipeline of a server that runs these steps and deploys nothing. */
  async function makeCustom(
    steps: StepInput[],
    more: { server?: Partial<Insertable<ServersTable>>; pipeline?: Partial<Insertable<PipelinesTable>> } = {},
  ): Promise<{ pipelineId: number; serverId: number; environmentId: number }> {
    const environmentId = await inventory.makeEnvironment()
    const serverId = await inventory.makeServer(environmentId, {
      ...inventory.newLocalServer(),
      ...more.server,
    })
    const pipelineId = await inventory.makePipeline(environmentId, steps, {
      resource_type: 'server',
      server_id: serverId,
      operation: 'custom',
      ...more.pipeline,
    })
    return { pipelineId, serverId, environmentId }
  }

  async function makeHook(pipelineId: number, ...variables: string[]) {
    const settings = { variables: variables.map((name) => ({ name, type: 'string', required: false })) }
    const input = { name: 'Push', requires_secret: true, settings }
    const { status, body } = await ask('POST', `/pipelines/${pipelineId}/hooks/incoming`, input)
    assert.equal(status, 201, JSON.stringify(body))
    return { path: new URL(body.url).pathname, secret: body.secret as string }
  }

  /** A signed call; returns the id of the action that it started. */
  async function fire(hook: { path: string; secret: string }, payload: object = {}): Promise<number> {
    const text = JSON.stringify(payload)
    const signature = createHmac('sha256', hook.secret).update(text).digest('hex')
    const answer = await fetch(`${api.url}${hook.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
      body: text,
    })
    const body = (await answer.json()) as { action_id: number }
    assert.equal(answer.status, 202, JSON.stringify(body))
    return body.action_id
  }

  async function run(pipelineId: number, input: object = {}): Promise<number> {
    const { status, body } = await ask('POST', `/pipelines/${pipelineId}/actions`, input)
    assert.equal(status, 201, JSON.stringify(body))
    return body.id
  }

  async function cancel(actionId: number): Promise<void> {
    const { status, body } = await ask('POST', `/actions/${actionId}/cancel`, {})
    assert.equal(status, 202, JSON.stringify(body))
  }

  async function show(actionId: number): Promise<Json> {
    const { status, body } = await ask('GET', `/actions/${actionId}`)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  /** The action as it is when it has ended. */
  function ended(actionId: number, withinMs = 60_000): Promise<Json> {
    return until(`action ${actionId} has ended`, withinMs, async () => {
      const action = await show(actionId)
      return ['completed', 'failed', 'skipped'].includes(action.status) && action
    })
  }

  /** The output of a step on the target with this position. */
  async function logOf(actionId: number, stepName: string, position = 0): Promise<string> {
    const target = (await show(actionId)).targets[position]
    const step = target.steps.find(({ name }: { name: string }) => name === stepName)
    const path = `/actions/${actionId}/targets/${target.id}/steps/${step.order}/logs`
    const { status, body } = await ask('GET', path)
    assert.equal(status, 200, JSON.stringify(body))
    return body.step.output
  }

  /** Asserts the reason of the end; the failure shows the cause. */
  async function endedWith(reason: string, actionId: number): Promise<Json> {
    const action = await ended(actionId)
    if (action.status_reason_code !== reason) {
      const last = action.targets.map((target: Json, position: number) =>
        target.current_step === null ? '' : logOf(actionId, target.current_step.name, position),
      )
      const logs = (await Promise.all(last)).join('\n')
      assert.fail(`action ${actionId} ended with ${action.status_reason_code}, not with ${reason}:\n${logs}`)
    }
    return action
  }

  const completed = (actionId: number) => endedWith('COMPLETED', actionId)

  return {
    ...inventory,
    settings: database,
    db,
    folder,
    notes,
    home,
    processes,
    start,
    ask,
    makeDeployable,
    makeCustom,
    makeHook,
    fire,
    run,
    cancel,
    show,
    ended,
    endedWith,
    completed,
    logOf,
    makeGate: (name: string) => createGate(notes, name),
    /** Asserts that no process works on targets or repositories any more, except those with these ids. */
    async nothingRuns(except: ReadonlySet<number> = new Set()): Promise<void> {
      let strays: string[] = []
      await until('nothing is left running', 60_000, () => {
        strays = processesAt([folder, join(home, 'repositories')])
        return strays.every((line) => except.has(Number.parseInt(line, 10)))
      }).catch((error) => assert.fail(`${error.message}\n${strays.join('\n')}`))
    },
  }
}

async function databaseOf(t: Closer): Promise<ConnectionSettings> {
  const { settings, drop } = await createTestDatabase()
  later(t, drop)
  return settings
}
