// Pages without anything on them yet: each says what belongs there and offers what starts it, according to the role.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { ADMIN } from '#test/support/process.ts'
import { type AccountsWorld, openAccountsWorld } from './accounts-world.ts'
import { looksRight } from './looks.ts'
import { goTo, isLoaded, type Login, openPage } from './world.ts'

/** What each page says, and the button in its middle, or null. */
type Expected = Record<string, [text: RegExp, button: string | null]>

const NO_ORGANIZATION: Expected = {
  overview: [/0 of 5 done/, 'Add your first application'],
  actions: [/Runs appear here as they start/, 'Set up an application'],
  applications: [/An application is a repository/, 'Set up an application'],
  servers: [/A server is where applications run/, 'Set up an application'],
  pipelines: [/A pipeline deploys an application/, 'Set up an application'],
  hooks: [/An incoming hook starts a pipeline/, 'Set up an application'],
  'hooks/new': [/A hook starts a pipeline/, 'Set up an application'],
  credentials: [/A credential is a token/, 'Add organization'],
  members: [/Members belong to an organization/, 'Add organization'],
  settings: [/An organization holds people/, 'Add organization'],
  audit: [/No entries yet|Every change leaves|IP address/, null],
  users: [/Instance administrator/, null],
  account: [/Profile/, null],
  new: [/An organization holds people and credentials/, 'Continue'],
}

const NO_ROLE: Expected = Object.fromEntries(
  ['overview', 'actions', 'applications', 'servers', 'pipelines', 'hooks'].map((page) => [
    page,
    [/Ask an owner of an organization to invite nobody-yet@example\.com/, null],
  ]),
)

const OWNER: Expected = {
  ...NO_ORGANIZATION,
  credentials: [/A credential is a token/, 'Add credential'],
  members: [/Owned by Administrator/, 'Invite'],
  settings: [/A project holds environments/, 'Add project'],
}

const ASK = /Ask an owner or an admin of the organization to set up an application/

const DEVELOPER: Expected = {
  overview: [/Nothing is running/, null],
  actions: [ASK, null],
  applications: [ASK, null],
  servers: [ASK, null],
  pipelines: [ASK, null],
  hooks: [ASK, null],
  'hooks/new': [ASK, null],
  settings: [/A project holds environments/, null],
  audit: [/You cannot read this audit log/, null],
  users: [/Only instance administrators manage accounts/, null],
  new: [/Your role does not include project:add/, null],
}

const BLIND: Expected = {
  ...DEVELOPER,
  overview: [/You cannot see runs here.*Your role does not include action:view/s, null],
}

describe('empty pages', () => {
  let world: AccountsWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openAccountsWorld({ after: (end) => ends.push(end) }, { GANTRY_SAMPLE: 'false' })
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  async function check(login: Login, expected: Expected, looks = Object.keys(expected)): Promise<void> {
    const { page, errors, close } = await openPage(world, '/app/account', login)
    for (const [name, [text, button]] of Object.entries(expected)) {
      await goTo(page, `/app/${name}`)
      await page.locator('main').getByRole('heading', { level: 1 }).waitFor()
      await says(page, name, text)
      if (button) assert.ok(await enabled(page, button), `${name} has no ${button}`)
      if (looks.includes(name)) await looksRight(page, `${login.email} on ${name}`)
    }
    assert.deepEqual(errors, [])
    await close()
  }

  it('lead an administrator without any organization to the guided setup', () =>
    check(ADMIN, NO_ORGANIZATION))

  it('lead an administrator to an organization, with the keyboard', async () => {
    const { page, errors, close } = await openPage(world, '/app/credentials')
    await page.getByRole('link', { name: 'Add organization' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Add organization' })
    await dialog.getByLabel('Name').fill('Acme')
    await page.keyboard.press('Enter')
    await page.getByText('Organization Acme added.').waitFor()
    await page.getByText('A project holds environments').waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('tell people without a role whom to ask', async () => {
    const person = await join('nobody-yet@example.com', { role: 'viewer' })
    await world.api('DELETE', `/organizations/1/members/${person.id}`)
    await check(person, NO_ROLE, ['overview'])
  })

  it('lead the owner of an empty organization to the guided setup', () =>
    check(ADMIN, OWNER, ['credentials', 'members', 'settings']))

  it('tell developers and viewers whom to ask', async () => {
    await check(await join('dev@example.com', { role: 'developer' }), DEVELOPER)
    await check(await join('viewer@example.com', { role: 'viewer' }), DEVELOPER, [])
  })

  it('never say that nothing ran to people who cannot see runs', async () => {
    const { body: role } = await world.api('POST', '/organizations/1/roles', {
      name: 'Without runs',
      permissions: [
        'organization',
        'project',
        'environment',
        'application',
        'server',
        'pipeline',
        'hook',
      ].map((resource) => `${resource}:view`),
    })
    const blind = await join('blind@example.com', { role_id: role.id })
    await check(blind, BLIND, ['overview'])
    const { body: project } = await world.api('POST', '/organizations/1/projects', { name: 'Shop' })
    const { page, close } = await openPage(world, '/app/servers', blind)
    await page.getByText('Shop has no environments yet').waitFor()
    const { body: environment } = await world.api('POST', `/projects/${project.id}/environments`, {
      name: 'Production',
      type: 'production',
    })
    const { body: server } = await world.api('POST', `/environments/${environment.id}/servers`, {
      name: 'web-1',
      provider_code: 'ssh',
      host: 'web-1.example.com',
      login_name: 'deploy',
      root_directory: '/srv/apps',
    })
    await world.api('POST', `/pipelines/server/${server.id}`, { name: 'Restart', operation: 'restart' })
    for (const name of [
      'overview',
      'actions',
      'servers',
      `servers/${server.id}`,
      'pipelines',
      'pipelines/1',
    ]) {
      await page.goto(`/app/${name}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await says(page, name, /You cannot see runs here|Runs not visible/)
      assert.doesNotMatch(await page.locator('main').innerText(), /No runs yet|Nothing is running/, name)
    }
    await close()
  })

  it('offer in each environment what comes next', async () => {
    const { page, errors, close } = await openPage(world, '/app/applications')
    await page.getByText('No applications yet').waitFor()
    await page.locator('main section').getByRole('button', { name: 'Add application' }).click()
    // Opening it moves the focus there.
    await page.getByRole('dialog', { name: 'Add application' }).locator(':focus').waitFor()
    await page.keyboard.press('Escape')
    await goTo(page, '/app/hooks')
    await page.locator('main section').getByRole('button', { name: 'Add hook' }).click()
    await page.getByText('Who calls?').waitFor()
    await looksRight(page, 'the first hook')
    assert.deepEqual(errors, [])
    await close()
  })

  /** A member of the organization. */
  async function join(email: string, grant: Record<string, unknown>): Promise<Login & { id: number }> {
    const password = 'first password of all'
    const token = new URL(
      await world.invite(1, email, { ...grant, ...(grant.role_id !== undefined && { role: undefined }) }),
    ).hash.slice(1)
    const { body } = await world.callAs(undefined, 'POST', '/users/accept-invitation', { token, password })
    return { id: body.user.id, email, password }
  }
})

async function says(page: Page, name: string, text: RegExp): Promise<void> {
  await isLoaded(page)
  const main = page.locator('main')
  await main
    .getByText(new RegExp(text.source.split('.*')[0]!))
    .first()
    .waitFor()
  assert.match(await main.innerText(), text, name)
}

/** A link or a button that does something. */
async function enabled(page: Page, name: string): Promise<boolean> {
  const main = page.locator('main')
  const found = main.getByRole('link', { name }).or(main.getByRole('button', { name })).first()
  await found.waitFor()
  return (await found.getAttribute('aria-disabled')) === null
}
