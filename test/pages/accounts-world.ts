// What the tests of the pages for accounts run against: Gantry as a process, a browser, and people.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { databaseOfProcess } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'
import { openBrowser } from './browser.ts'
import type { Login } from './world.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type AccountsWorld = {
  url: string
  browser: Browser
  /** The log of the process. */
  log: string[]
  /** As the administrator. */
  api(method: string, path: string, body?: unknown): ReturnType<typeof call>
  /** Without a session, or with this token. */
  callAs(token: string | undefined, method: string, path: string, body?: unknown): ReturnType<typeof call>
  /** An organization of its own, so that tests do not see each other's members. */
  createOrganization(name: string): Promise<number>
  /** The link of a new invitation. */
  invite(organizationId: number, email: string, more?: Record<string, unknown>): Promise<string>
  /** Somebody with an account, who can see the sample organization. */
  createPerson(name: string, role?: string): Promise<Login & { id: number }>
}

const BUILD = fileURLToPath(new URL('../../scripts/build-web.mjs', import.meta.url))
const PASSWORD = 'first password of all'

export async function openAccountsWorld(
  t: Closer,
  settings: Record<string, string> = {},
): Promise<AccountsWorld> {
  spawnSync(process.execPath, [BUILD], { stdio: 'ignore' })
  const home = await temporaryHome(t)
  const database = await databaseOfProcess(t)
  const gantry = await startGantry(t, { ...ADMIN_ENVIRONMENT, ...database, GANTRY_HOME: home, ...settings })
  const url = gantry.url!
  const token = await logInAsAdmin(gantry)
  const browser = await openBrowser()
  later(t, () => browser.close())

  const callAs: AccountsWorld['callAs'] = (token, method, path, body) =>
    call({ url }, method, path, { ...(token !== undefined && { token }), body })
  const create = async (path: string, body: unknown) => {
    const answer = await callAs(token, 'POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const invite: AccountsWorld['invite'] = async (organizationId, email, more = {}) => {
    const body = { email, role: 'viewer', ...more }
    return (await create(`/organizations/${organizationId}/invitations`, body)).url
  }
  let people = 0
  return {
    url,
    browser,
    log: gantry.log,
    api: (method, path, body) => callAs(token, method, path, body),
    callAs,
    createOrganization: async (name) => (await create('/organizations', { name })).id,
    invite,
    async createPerson(name, role = 'viewer') {
      const email = `person-${++people}@example.com`
      const invitation = tokenOf(await invite(1, email, { name, role }))
      const { body } = await callAs(undefined, 'POST', '/users/accept-invitation', {
        token: invitation,
        password: PASSWORD,
      })
      return { id: body.user.id, email, password: PASSWORD }
    },
  }
}

/** The token of a link. */
export function tokenOf(link: string): string {
  return new URL(link).hash.slice(1)
}
