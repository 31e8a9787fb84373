// What the tests of the pages run against: Gantry as a process, with a pipeline whose steps wait for the test, hooks, a
// viewer, and a browser.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { changeDatabase, databaseOfProcess } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import {
  ADMIN,
  ADMIN_ENVIRONMENT,
  call,
  type GantryProcess,
  logInAsAdmin,
  startGantry,
  temporaryHome,
} from '#test/support/process.ts'
import { until } from '#test/support/until.ts'
import { openBrowser } from './browser.ts'
import { recordWrites } from './writes.ts'

type Closer = { after(fn: () => Promise<void>): void }
export type Login = { email: string; password: string }

export type PagesWorld = {
  url: string
  token: string
  browser: Browser
  pipelineId: number
  hookUrl: string
  viewer: Login
  /** Lets steps that wait at this gate continue. */
  open(gate: string): Promise<void>
  close(gate: string): Promise<void>
  /** No step waits anymore. */
  openAll(): Promise<void>
  /** The path of one page of each kind. */
  everyPage(actionId: number): string[]
  /** Calls the hook as another service does. Returns the id of the action that it started. */
  callHook(body: unknown): Promise<number>
  /** Deploys the sample application, and waits until it completes. */
  deploy(): Promise<{ id: number; release: string }>
  /** A project with one environment that has a server, a pipeline and a hook. */
  createProject(name: string, environment: string): Promise<{ projectId: number; environmentId: number }>
  /** A member with this one grant, who has accepted the invitation. */
  invite(email: string, grant: Record<string, unknown>): Promise<Login>
  /** Runs a step whose output is nearly as long as a log may be. Returns the action's id. */
  runWithLongLog(): Promise<number>
  api(method: string, path: string, body?: unknown): ReturnType<typeof call>
  /** Changes its database: lets time pass. */
  sql(statement: string): Promise<void>
  /** Stops Gantry. Returns what starts it again, at the same URL. */
  stop(): Promise<() => Promise<void>>
}

const BUILD = fileURLToPath(new URL('../../scripts/build-web.mjs', import.meta.url))

export async function openPagesWorld(t: Closer): Promise<PagesWorld> {
  spawnSync(process.execPath, [BUILD], { stdio: 'ignore' })
  const home = await temporaryHome(t)
  const gates = await createGates(t)
  const database = await databaseOfProcess(t)
  const environment = {
    ...ADMIN_ENVIRONMENT,
    ...database,
    GANTRY_HOME: home,
    PORT: String(await freePort()),
  }
  let gantry: GantryProcess = await startGantry(t, environment)
  const url = gantry.url!
  const token = await logInAsAdmin(gantry)
  const api = (method: string, path: string, body?: unknown) => call({ url }, method, path, { token, body })
  const create = async <Created>(path: string, body: unknown): Promise<Created> => {
    const answer = await api('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  const { id: pipelineId } = await create<{ id: number }>('/pipelines/server/1', {
    name: 'Two steps',
    operation: 'custom',
    max_parallel_actions: 0,
  })
  const waitFor = (gate: string) => `until [ -e '${join(gates, gate)}' ]; do sleep 0.05; done`
  await create(`/pipelines/${pipelineId}/steps`, {
    name: 'speak',
    command: [
      "echo 'first words'",
      "printf '\\033[31mred\\033[0m <b>not bold</b>\\n'",
      waitFor('speak'),
      "echo 'last words'",
    ].join('\n'),
  })
  await create(`/pipelines/${pipelineId}/steps`, { name: 'finish', command: waitFor('finish') })
  const hook = await create<{ id: string; url: string }>(`/pipelines/${pipelineId}/hooks/incoming`, {
    name: 'External service',
    settings: { variables: [{ name: 'greeting', type: 'string', required: false }] },
  })
  // Nothing listens on port 9, the discard port.
  const outgoing = await create<{ id: string }>(`/pipelines/${pipelineId}/hooks/outgoing`, {
    name: 'Unreachable receiver',
    target_url: 'http://127.0.0.1:9/notify',
  })
  const invite = (email: string, grant: Record<string, unknown>) => inviteMember(url, create, email, grant)
  const viewer = await invite('viewer@example.com', { name: 'Vera Viewer', role: 'viewer' })
  const browser = await openBrowser()
  later(t, () => browser.close())

  return {
    url,
    token,
    browser,
    pipelineId,
    hookUrl: hook.url,
    viewer,
    open: (gate) => writeFile(join(gates, gate), ''),
    openAll: async () => {
      for (const gate of ['speak', 'finish']) await writeFile(join(gates, gate), '')
    },
    close: (gate) => rm(join(gates, gate), { force: true }),
    everyPage(actionId) {
      return [
        '/app/overview',
        '/app/actions',
        `/app/actions/${actionId}`,
        '/app/applications',
        '/app/applications/1',
        '/app/applications/1/insights',
        '/app/environments/1',
        '/app/servers',
        '/app/servers/1',
        '/app/pipelines',
        `/app/pipelines/${pipelineId}`,
        '/app/hooks',
        '/app/hooks/new',
        `/app/hooks/incoming/${hook.id}`,
        `/app/hooks/outgoing/${outgoing.id}`,
        '/app/credentials',
        '/app/members',
        '/app/settings',
        '/app/audit',
        '/app/users',
        '/app/account',
        '/app/new',
        '/app/nowhere',
      ]
    },
    api,
    invite,
    async deploy() {
      const { id } = await create<{ id: number }>('/pipelines/1/actions', {})
      return until('the deploy has completed', 20_000, async () => {
        const { status, action_data } = (await api('GET', `/actions/${id}`)).body
        return status === 'completed' ? { id, release: action_data.release_name } : undefined
      })
    },
    async createProject(name, environment) {
      const project = await create<{ id: number }>('/organizations/1/projects', { name })
      const { id: environmentId } = await create<{ id: number }>(`/projects/${project.id}/environments`, {
        name: environment,
        type: environment.toLowerCase(),
      })
      const server = await create<{ id: number }>(`/environments/${environmentId}/servers`, {
        name: `${name} 1`,
        provider_code: 'local',
        root_directory: join(home, 'sites'),
      })
      const pipeline = await create<{ id: number }>(`/pipelines/server/${server.id}`, {
        name: `Restart ${name}`,
        operation: 'restart',
      })
      await create(`/pipelines/${pipeline.id}/hooks/incoming`, { name: `Deploy ${name}` })
      return { projectId: project.id, environmentId }
    },
    async runWithLongLog() {
      const verbose = await create<{ id: number }>('/pipelines/server/1', {
        name: 'Long log',
        operation: 'reload',
      })
      await create(`/pipelines/${verbose.id}/steps`, {
        name: 'print',
        command:
          "yes 'line of a long log, one of very many that are all alike' | head -c 9M; echo; echo 'needle at the end'",
      })
      return (await create<{ id: number }>(`/pipelines/${verbose.id}/actions`, {})).id
    },
    async callHook(body) {
      const response = await fetch(hook.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return ((await response.json()) as { action_id: number }).action_id
    },
    sql: (statement) => changeDatabase(database.DATABASE_URL!, statement),
    async stop() {
      await gantry.stop()
      return async () => {
        gantry = await startGantry(t, environment)
      }
    },
  }
}

/**
 * A page of a signed-in person, or with `null` of nobody, in a fresh browser. `errors` collects what goes wrong in it:
 * exceptions, console errors, and violations of the content security policy.
 */
export async function openPage(
  world: Pick<PagesWorld, 'browser' | 'url'>,
  path: string,
  login: Login | null = ADMIN,
): Promise<{ page: Page; errors: string[]; close(): Promise<void> }> {
  const context = await contextOf(world, login)
  const page = await context.newPage()
  recordWrites(world.browser, page)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // An error response is the browser's remark about the network, not an error of the page.
    const isResponse = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isResponse) errors.push(message.text())
  })
  await page.goto(path)
  return { page, errors, close: () => (login ? page.close() : context.close()) }
}

/** One context per person: their next page finds the scripts in the cache. */
async function contextOf({ browser, url }: Pick<PagesWorld, 'browser' | 'url'>, login: Login | null) {
  const known = login && contexts.get(browser)?.get(login.email)
  if (known) return known
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 1200, height: 800 },
    // A color in transition has no contrast yet.
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(20_000)
  await context.addInitScript(REPORT_POLICY_VIOLATIONS)
  if (!login) return context
  await openSession(context, login)
  const ofBrowser = contexts.get(browser) ?? new Map()
  contexts.set(browser, ofBrowser.set(login.email, context))
  return context
}

const REPORT_POLICY_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('blocked by the content security policy:', event.violatedDirective, event.blockedURI))`

const contexts = new WeakMap<Browser, Map<string, BrowserContext>>()

/** Signs in without the form. */
async function openSession(context: BrowserContext, { email, password }: Login): Promise<void> {
  const data = { email, password }
  const answer = await context.request.post('/session', { data, headers: { 'x-gantry-request': '1' } })
  if (!answer.ok()) throw new Error(`POST /session: ${answer.status()} ${await answer.text()}`)
}

export async function signIn(page: Page, { email, password }: Login): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Nothing on the page is still loading. */
export async function isLoaded(page: Page): Promise<void> {
  await until('everything is loaded', 20_000, async () => {
    return !/Loading /.test(await page.locator('body').innerText())
  })
}

/** Navigates like a link, without loading the scripts again. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
}

/** The button with this text has the focus. */
export async function focusIsOn(page: Page, button: string): Promise<void> {
  const focused = 'document.activeElement?.textContent'
  await until(`${button} has the focus`, 20_000, async () => (await page.evaluate(focused)) === button)
}

/** The button is there for everyone; without the permission it says what is missing, and does nothing. */
export async function isDisabledWithReason(
  page: Page,
  name: string,
  reason = 'Your role does not include',
): Promise<void> {
  const button = page.getByRole('button', { name: new RegExp(`^${name}`) }).first()
  await button.getByText(reason).waitFor({ state: 'attached' })
  await button.click({ force: true })
  if ((await page.getByRole('dialog').count()) > 0) throw new Error(`${name} opens a dialog`)
}

/** A folder that any account that runs steps can read. */
async function createGates(t: Closer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-gates-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  return folder
}

async function inviteMember(
  url: string,
  create: <Created>(path: string, body: unknown) => Promise<Created>,
  email: string,
  grant: Record<string, unknown>,
): Promise<Login> {
  const login = { email, password: 'read-only visitor' }
  const invitation = await create<{ url: string }>('/organizations/1/invitations', { email, ...grant })
  const token = new URL(invitation.url).hash.slice(1)
  const answer = await call({ url }, 'POST', '/users/accept-invitation', {
    body: { token, password: login.password },
  })
  if (answer.status >= 300) throw new Error(`accept-invitation: ${JSON.stringify(answer.body)}`)
  return login
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
