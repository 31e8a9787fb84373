// Runs as people see them: Gantry's own processes, real git repositories, and servers to deploy to. What the API
// cannot make yet is put into the database.
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Insertable } from 'kysely'
import { createSecretBox } from '#crypto/secret-box.ts'
import { type ConnectionSettings, type Database, openDatabase } from '#database/connect.ts'
import type { ApplicationsTable, PipelinesTable, ServersTable } from '#database/tables.ts'
import { credentialPlace, variablePlace } from '#inventory/secret-places.ts'
import { DEPLOY_STEPS } from '#pipelines/built-in-steps.ts'
import { createTestDatabase, testServer } from './database.ts'
import { later } from './later.ts'
import { ADMIN_ENVIRONMENT, call, type GantryProcess, startGantry, temporaryHome } from './process.ts'
import type { Sshd } from './sshd.ts'
import { createPerson, grantRole } from './world.ts'

type Closer = { after(fn: () => Promise<void>): void }
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Json = any

/** A step that a person wrote; the name of a built-in one stands for itself. */
export type StepWish =
  | string
  | { name: string; command: string; idempotent?: boolean; timeout_seconds?: number }
export type ApplicationWish = Partial<Insertable<ApplicationsTable>> & {
  variables?: { name: string; value: string; hidden?: boolean }[]
}

export type Deployable = {
  environmentId: number
  serverIds: number[]
  applicationId: number
  pipelineId: number
  /** The folder of the application on each server. */
  bases: string[]
}

export const BUILT_IN: string[] = DEPLOY_STEPS.map(({ name }) => name)

/** The built-in steps of a deploy, with others behind those that are named. */
export function deployWith(behind: Record<string, StepWish | StepWish[]>): StepWish[] {
  return BUILT_IN.flatMap((name) => [name, ...[behind[name] ?? []].flat()])
}

export type RunWorld = Awaited<ReturnType<typeof openRunWorld>>

/** `roles`: the processes to begin with. */
export async function openRunWorld(
  t: Closer,
  options: {
    roles?: ('all' | 'api' | 'worker')[]
    environment?: Record<string, string>
    /** A server of one's own, to stop and start; else a database of the test run's. */
    database?: ConnectionSettings & { host: string; user: string; port?: number }
  } = {},
) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-runs-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  // Under root, steps run under other accounts.
  await chmod(folder, 0o755)
  const notes = join(folder, 'notes')
  await mkdir(notes)
  await chmod(notes, 0o777)

  const database = options.database ?? (await databaseOf(t))
  const { host, user, port = 5432 } = { ...testServer(), ...options.database }
  const key = randomBytes(32)
  const home = await temporaryHome(t)
  const environment = {
    GANTRY_HOME: home,
    DATABASE_URL: `postgres:///${database.database}?host=${encodeURIComponent(host)}&port=${port}&user=${user}`,
    GANTRY_SECRET_KEY: key.toString('hex'),
    GANTRY_SAMPLE: 'false',
    ...ADMIN_ENVIRONMENT,
    ...options.environment,
  }
  const start = (role: string, more: Record<string, string> = {}) =>
    startGantry(t, { ...environment, GANTRY_ROLE: role, ...more })
  const processes: GantryProcess[] = []
  for (const role of options.roles ?? ['all']) processes.push(await start(role))
  const opened = openDatabase(database, { onIdleError: () => {} })
  later(t, () => opened.close())
  const { db } = opened
  const api = processes.find(({ url }) => url !== undefined)!
  const inventory = await createInventory(db, { key, folder, admin: await createPerson(db, { admin: true }) })

  async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> {
    return call(api, method, path, { token: inventory.owner.token, body })
  }

  /** What it deploys, where and how, all its own. */
  async function makeDeployable(wish: {
    repository: string
    servers?: number | (Partial<Insertable<ServersTable>> & { root_directory: string })[]
    steps?: StepWish[]
    application?: ApplicationWish
    pipeline?: Partial<Insertable<PipelinesTable>>
    environmentId?: number
  }): Promise<Deployable> {
    const { servers: wanted = 1 } = wish
    const environmentId = wish.environmentId ?? (await inventory.makeEnvironment())
    const servers =
      typeof wanted === 'number' ? Array.from({ length: wanted }, () => inventory.newLocalServer()) : wanted
    const serverIds: number[] = []
    for (const server of servers) serverIds.push(await inventory.makeServer(environmentId, server))
    const applicationId = await inventory.makeApplication(environmentId, serverIds, {
      repository: wish.repository,
      ...wish.application,
    })
    const pipelineId = await inventory.makePipeline(environmentId, wish.steps ?? BUILT_IN, {
      resource_type: 'application',
      application_id: applicationId,
      operation: 'deploy',
      ...wish.pipeline,
    })
    const bases = servers.map(({ root_directory }) => join(root_directory, 'shop'))
    return { environmentId, serverIds, applicationId, pipelineId, bases }
  }

  /** A pipeline of a server that runs these steps and deploys nothing. */
  async function makeCustom(
    steps: StepWish[],
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
    const wish = { name: 'Push', requires_secret: true, settings }
    const { status, body } = await ask('POST', `/pipelines/${pipelineId}/hooks/incoming`, wish)
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

  async function run(pipelineId: number, wish: object = {}): Promise<number> {
    const { status, body } = await ask('POST', `/pipelines/${pipelineId}/actions`, wish)
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

  /** What a step printed, on the target with this position. */
  async function logOf(actionId: number, stepName: string, position = 0): Promise<string> {
    const target = (await show(actionId)).targets[position]
    const step = target.steps.find(({ name }: { name: string }) => name === stepName)
    const path = `/actions/${actionId}/targets/${target.id}/steps/${step.order}/logs`
    const { status, body } = await ask('GET', path)
    assert.equal(status, 200, JSON.stringify(body))
    return body.step.output
  }

  /** It ended so; if not, the failure shows why. */
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
    /** Nothing works on targets or with repositories any more, save processes of these numbers. */
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

async function createInventory(
  db: Database,
  { key, folder, admin }: { key: Buffer; folder: string; admin: Awaited<ReturnType<typeof createPerson>> },
) {
  const box = createSecretBox([key])
  const made = { created_by: admin.id }
  let count = 0
  const { id: organizationId } = await db
    .insertInto('organizations')
    .values({ name: 'Acme', url_slug: 'acme', owner_id: admin.id })
    .returning('id')
    .executeTakeFirstOrThrow()
  await grantRole(db, admin.id, 'owner', { organizationId })
  const { id: projectId } = await db
    .insertInto('projects')
    .values({ ...made, organization_id: organizationId, name: 'Shop' })
    .returning('id')
    .executeTakeFirstOrThrow()

  async function makeEnvironment(): Promise<number> {
    const { id } = await db
      .insertInto('environments')
      .values({ project_id: projectId, type: 'production', name: `Environment ${++count}` })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }

  /** A root folder that Gantry makes itself. */
  const newLocalServer = () => ({
    name: `here-${++count}`,
    provider_code: 'local' as const,
    root_directory: join(folder, `site-${count}`),
  })

  /** An account of an sshd. Its root folder is there, and anybody's. */
  async function newSshServer({ hostKey, privateKey, ...sshd }: Sshd, account: number) {
    const root_directory = join(folder, `site-${++count}`)
    await mkdir(root_directory)
    await chmod(root_directory, 0o777)
    return {
      name: `web-${account + 1}`,
      provider_code: 'ssh' as const,
      host: '127.0.0.1',
      port: sshd.port,
      login_name: sshd.accounts[account % sshd.accounts.length]!.name,
      host_key: hostKey as string | null,
      credential_id: await makeKeyCredential(privateKey),
      root_directory,
    }
  }

  async function makeKeyCredential(privateKey: string): Promise<number> {
    const { id } = await db
      .insertInto('credentials')
      .values({
        ...made,
        organization_id: organizationId,
        name: `Key ${++count}`,
        provider_code: 'ssh',
        auth_type: 'key',
        secret: Buffer.from('sealed below'),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const secret = box.seal(privateKey, credentialPlace(id))
    await db.updateTable('credentials').set({ secret }).where('id', '=', id).execute()
    return id
  }

  async function makeServer(
    environmentId: number,
    server: Partial<Insertable<ServersTable>> & { root_directory: string },
  ): Promise<number> {
    const { id } = await db
      .insertInto('servers')
      .values({ ...made, environment_id: environmentId, name: 'here', provider_code: 'local', ...server })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }

  async function makeApplication(
    environmentId: number,
    serverIds: number[],
    { variables = [], ...wish }: ApplicationWish & { repository: string },
  ): Promise<number> {
    const { id } = await db
      .insertInto('applications')
      .values({
        ...made,
        project_id: projectId,
        environment_id: environmentId,
        name: 'Shop',
        folder: 'shop',
        default_branch: 'main',
        ...wish,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const links = serverIds.map((server_id) => ({
      application_id: id,
      server_id,
      environment_id: environmentId,
    }))
    await db.insertInto('application_servers').values(links).execute()
    for (const { name, value, hidden = false } of variables) {
      const variable = await db
        .insertInto('application_variables')
        .values({ application_id: id, name, hidden, value: Buffer.from('sealed below') })
        .returning('id')
        .executeTakeFirstOrThrow()
      await db
        .updateTable('application_variables')
        .set({ value: box.seal(value, variablePlace(variable.id)) })
        .where('id', '=', variable.id)
        .execute()
    }
    return id
  }

  async function makePipeline(
    environmentId: number,
    steps: StepWish[],
    pipeline: Partial<Insertable<PipelinesTable>> &
      Pick<Insertable<PipelinesTable>, 'resource_type' | 'operation'>,
  ): Promise<number> {
    const { id } = await db
      .insertInto('pipelines')
      .values({ ...made, environment_id: environmentId, name: `Pipeline ${++count}`, ...pipeline })
      .returning('id')
      .executeTakeFirstOrThrow()
    const rows = steps.map((step, index) => ({
      pipeline_id: id,
      position: index + 1,
      ...(typeof step === 'string' ? { name: step, built_in: true } : { ...step, built_in: false }),
    }))
    await db.insertInto('pipeline_steps').values(rows).execute()
    return id
  }

  return {
    owner: admin,
    makeEnvironment,
    newLocalServer,
    newSshServer,
    makeServer,
    makeApplication,
    makePipeline,
  }
}

/** A place in a step's command where it waits until it is let go. */
export type Gate = {
  command: string
  /** A file that whoever waits here has open, with everything that it started. */
  held: string
  /** How often a step came here. */
  entered(): Promise<number>
  reached(times?: number): Promise<void>
  /** How often one was let go. */
  left(): Promise<number>
  open(): Promise<void>
  shut(): Promise<void>
}

function createGate(notes: string, name: string): Gate {
  const path = join(notes, name)
  const linesOf = async (file: string) =>
    (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1
  const entered = () => linesOf(`${path}.entered`)
  return {
    command: [
      `echo "$GANTRY_ACTION_ID" >> '${path}.entered'`,
      `exec 8>> '${path}.held'`,
      `until [ -e '${path}.open' ]; do sleep 0.05; done`,
      `echo "$GANTRY_ACTION_ID" >> '${path}.left'`,
    ].join('; '),
    held: `${path}.held`,
    entered,
    left: () => linesOf(`${path}.left`),
    async reached(times = 1) {
      await until(`the step reached ${name}`, 60_000, async () => (await entered()) >= times)
    },
    open: () => writeFile(`${path}.open`, ''),
    shut: () => rm(`${path}.open`),
  }
}

/** Polls for a truth; what is thrown on the way is the reason when it does not come. */
export async function until<Result>(
  what: string,
  withinMs: number,
  probe: () => Promise<Result | false | undefined> | Result | false | undefined,
): Promise<Result> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const found = await probe()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`)
    await pause(30)
  }
}

/** The name of the live release, null when there is none. */
export async function liveRelease(base: string): Promise<string | null> {
  const link = await readlink(join(base, 'current')).catch(() => null)
  return link === null ? null : link.replace(/^releases\//, '')
}

export const liveFile = (base: string, file: string) => readFile(join(base, 'current', file), 'utf8')

/** Everything in the folder of releases, finished or not. */
export async function releasesIn(base: string): Promise<string[]> {
  return (await readdir(join(base, 'releases')).catch(() => [])).sort()
}

/** Processes, other than this one, that have to do with one of these places: by their text, folder or files. */
export function processesAt(places: string[]): string[] {
  const isThere = (text: string) => places.some((place) => text.includes(place))
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    const about = [
      look(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')),
      look(() => readFileSync(`/proc/${pid}/environ`, 'latin1')),
      look(() => readlinkSync(`/proc/${pid}/cwd`)),
      ...look(() =>
        readdirSync(`/proc/${pid}/fd`).map((fd) => look(() => readlinkSync(`/proc/${pid}/fd/${fd}`))),
      ),
    ]
    const [text] = about
    return about.some((one) => one !== '' && isThere(one)) ? [`${pid} ${text}`] : []
  })
}

/** A process may end, or be somebody else's, while one looks. */
function look<Result extends string | string[]>(read: () => Result): Result | '' {
  try {
    return read()
  } catch {
    return ''
  }
}
