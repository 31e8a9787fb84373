// What the tests of the pages stand on: Gantry as a process, with a pipeline whose steps wait for the test, a hook, a
// viewer, and a browser.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
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

type Closer = { after(fn: () => Promise<void>): void }
export type Login = { email: string; password: string }

export type PagesWorld = {
  url: string
  token: string
  browser: Browser
  pipelineId: number
  hookUrl: string
  viewer: Login
  /** Lets the steps that wait at this place go on. */
  open(gate: string): Promise<void>
  close(gate: string): Promise<void>
  /** No step waits any more. */
  openAll(): Promise<void>
  /** Addresses of one page of each kind. */
  everyPage(actionId: number): string[]
  /** Calls the hook as the outside world does; the id of the action that it started. */
  callHook(body: unknown): Promise<number>
  /** Deploys the sample, and waits for the end. */
  deploy(): Promise<{ id: number; release: string }>
  /** A project with one environment, in which there are a server, a pipeline and a hook. */
  makeProject(name: string, environment: string): Promise<{ projectId: number; environmentId: number }>
  /** Somebody with this one role, who has accepted. */
  invite(email: string, grant: Record<string, unknown>): Promise<Login>
  /** Runs a step that prints nearly as much as is kept of one; the action's id. */
  runLoudly(): Promise<number>
  api(method: string, path: string, body?: unknown): ReturnType<typeof call>
  /** Stops Gantry and gives back what starts it again, at the same address. */
  stop(): Promise<() => Promise<void>>
}

const BUILD = fileURLToPath(new URL('../../scripts/build-web.mjs', import.meta.url))

export async function openPagesWorld(t: Closer): Promise<PagesWorld> {
  spawnSync(process.execPath, [BUILD], { stdio: 'ignore' })
  const home = await temporaryHome(t)
  const gates = await makeGates(t)
  const environment = { ...ADMIN_ENVIRONMENT, GANTRY_HOME: home, PORT: String(await freePort()) }
  let gantry: GantryProcess = await startGantry(t, environment)
  const url = gantry.url!
  const token = await logInAsAdmin(gantry)
  const api = (method: string, path: string, body?: unknown) => call({ url }, method, path, { token, body })
  const make = async <Made>(path: string, body: unknown): Promise<Made> => {
    const answer = await api('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  const { id: pipelineId } = await make<{ id: number }>('/pipelines/server/1', {
    name: 'Two steps',
    operation: 'custom',
    max_parallel_actions: 0,
  })
  const waitFor = (gate: string) => `until [ -e '${join(gates, gate)}' ]; do sleep 0.05; done`
  await make(`/pipelines/${pipelineId}/steps`, {
    name: 'speak',
    command: [
      "echo 'first words'",
      "printf '\\033[31mred\\033[0m <b>not bold</b>\\n'",
      waitFor('speak'),
      "echo 'last words'",
    ].join('\n'),
  })
  await make(`/pipelines/${pipelineId}/steps`, { name: 'finish', command: waitFor('finish') })
  const hook = await make<{ id: string; url: string }>(`/pipelines/${pipelineId}/hooks/incoming`, {
    name: 'Outside world',
    settings: { variables: [{ name: 'greeting', type: 'string', required: false }] },
  })
  // Nobody listens there: port 9 is for throwing things away.
  const telling = await make<{ id: string }>(`/pipelines/${pipelineId}/hooks/outgoing`, {
    name: 'Deaf receiver',
    target_url: 'http://127.0.0.1:9/told',
  })
  const invite = (email: string, grant: Record<string, unknown>) => inviteSomebody(url, make, email, grant)
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
        '/app/pipelines',
        `/app/pipelines/${pipelineId}`,
        '/app/hooks',
        `/app/hooks/incoming/${hook.id}`,
        `/app/hooks/outgoing/${telling.id}`,
        '/app/members',
        '/app/nowhere',
      ]
    },
    api,
    invite,
    async deploy() {
      const { id } = await make<{ id: number }>('/pipelines/1/actions', {})
      return until('the deploy has completed', 20_000, async () => {
        const { status, action_data } = (await api('GET', `/actions/${id}`)).body
        return status === 'completed' ? { id, release: action_data.release_name } : undefined
      })
    },
    async makeProject(name, environment) {
      const project = await make<{ id: number }>('/organizations/1/projects', { name })
      const { id: environmentId } = await make<{ id: number }>(`/projects/${project.id}/environments`, {
        name: environment,
        type: environment.toLowerCase(),
      })
      const server = await make<{ id: number }>(`/environments/${environmentId}/servers`, {
        name: `${name} 1`,
        provider_code: 'local',
        root_directory: join(home, 'sites'),
      })
      const pipeline = await make<{ id: number }>(`/pipelines/server/${server.id}`, {
        name: `Restart ${name}`,
        operation: 'restart',
      })
      await make(`/pipelines/${pipeline.id}/hooks/incoming`, { name: `Call of ${name}` })
      return { projectId: project.id, environmentId }
    },
    async runLoudly() {
      const loud = await make<{ id: number }>('/pipelines/server/1', { name: 'Loud', operation: 'reload' })
      await make(`/pipelines/${loud.id}/steps`, {
        name: 'shout',
        command:
          "yes 'line of a long log, one of very many that are all alike' | head -c 9M; echo; echo 'needle at the end'",
      })
      return (await make<{ id: number }>(`/pipelines/${loud.id}/actions`, {})).id
    },
    async callHook(body) {
      const response = await fetch(hook.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return ((await response.json()) as { action_id: number }).action_id
    },
    async stop() {
      await gantry.stop()
      return async () => {
        gantry = await startGantry(t, environment)
      }
    },
  }
}

/**
 * A page of somebody who has signed in, at this address; of nobody, in a browser that has never been here. What goes
 * wrong in it is gathered in `faults`.
 */
export async function openPage(
  world: Pick<PagesWorld, 'browser' | 'url'>,
  path: string,
  login: Login | null = ADMIN,
): Promise<{ page: Page; faults: string[]; close(): Promise<void> }> {
  const context = await contextOf(world, login)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    // That an answer was no success is the browser's remark about the network, not a fault of the page.
    const isRemark = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isRemark) faults.push(message.text())
  })
  await page.goto(path)
  return { page, faults, close: () => (login ? page.close() : context.close()) }
}

/** Whoever has signed in once stays so: their next page finds the scripts where the last one left them. */
async function contextOf({ browser, url }: Pick<PagesWorld, 'browser' | 'url'>, login: Login | null) {
  const known = login && contexts.get(browser)?.get(login.email)
  if (known) return known
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1200, height: 800 } })
  context.setDefaultTimeout(20_000)
  if (!login) return context
  await openSession(context, login)
  const ofBrowser = contexts.get(browser) ?? new Map()
  contexts.set(browser, ofBrowser.set(login.email, context))
  return context
}

const contexts = new WeakMap<Browser, Map<string, BrowserContext>>()

/** As the form does it, without the form. */
async function openSession(context: BrowserContext, data: Login): Promise<void> {
  const answer = await context.request.post('/session', { data, headers: { 'x-gantry-request': '1' } })
  if (!answer.ok()) throw new Error(`POST /session: ${answer.status()} ${await answer.text()}`)
}

export async function signIn(page: Page, { email, password }: Login): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Nothing on the page is still being read. */
export async function settled(page: Page): Promise<void> {
  await until('everything was read', 20_000, async () => {
    return !/Loading |Reading…/.test(await page.locator('body').innerText())
  })
}

/** As a link does it: the browser loads only what is new. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
}

/** The keyboard is at the button with this text. */
export async function focusIsOn(page: Page, button: string): Promise<void> {
  const look = 'document.activeElement?.textContent'
  await until(`the keyboard is at ${button}`, 20_000, async () => (await page.evaluate(look)) === button)
}

/** A folder that whatever account runs steps can look into. */
async function makeGates(t: Closer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-gates-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  return folder
}

async function inviteSomebody(
  url: string,
  make: <Made>(path: string, body: unknown) => Promise<Made>,
  email: string,
  grant: Record<string, unknown>,
): Promise<Login> {
  const login = { email, password: 'only here to look' }
  const { invitation_url } = await make<{ invitation_url: string }>('/organizations/1/members', {
    email,
    ...grant,
  })
  const token = invitation_url.split(/[/=#]/).at(-1)
  const answer = await call({ url }, 'POST', '/users/accept-invitation', {
    body: { token, password: login.password },
  })
  if (answer.status >= 300) throw new Error(`accept-invitation: ${JSON.stringify(answer.body)}`)
  return login
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
