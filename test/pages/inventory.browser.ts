// Servers, applications and variables in a real browser, with a real sshd.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { type Sshd, startSshd } from '#test/support/sshd.ts'
import { findViolations } from './axe.ts'
import { focusMovesTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { goTo, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

const LONG_NAME = `${'商店-بيت-'.repeat(40)}`.slice(0, 255)

describe('servers, applications and variables', () => {
  let world: PagesWorld
  let sshd: Sshd
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    const closer = { after: (end: () => Promise<void>) => void ends.push(end) }
    sshd = await startSshd(closer)
    world = await openPagesWorld(closer)
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('a server is added with a generated key, tested, and its host key pinned', async () => {
    const { page, errors, close } = await openPage(world, '/app/servers')
    await page.getByRole('button', { name: 'Add server' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('web-1')
    await dialog.getByRole('button', { name: 'Add server' }).click()
    await dialog.getByText('Is required for ssh').first().waitFor()
    const account = sshd.accounts[0]!
    await dialog.getByLabel('Host').first().fill('127.0.0.1')
    await dialog.getByLabel('Login').fill(account.name)
    assert.equal(await dialog.getByLabel('Root directory').inputValue(), `/home/${account.name}/apps`)
    await dialog.getByLabel('Root directory').fill(`${account.home}/apps`)
    await dialog.getByRole('button', { name: 'Generate key' }).click()
    const publicKey = await dialog.getByLabel('Public key', { exact: true }).inputValue()
    assert.match(publicKey, /^ssh-ed25519 AAAA/)
    await dialog.getByText('More options').click()
    await dialog.getByLabel('Port').fill(String(sshd.port))
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByRole('button', { name: 'Add server' }).click()
    await page.getByRole('heading', { level: 1, name: 'web-1' }).waitFor()
    await page.getByText('Gantry cannot deploy to this server yet.').waitFor()
    await appendFile(sshd.authorizedKeys, `${publicKey}\n`)
    await page.getByRole('button', { name: 'Test again' }).click()
    await page.getByText('Gantry can deploy to this server.').waitFor()
    await page.getByText(`Logged in as ${account.name}`).waitFor()
    await page.getByRole('button', { name: 'Pin this host key' }).click()
    await page.getByText('Pinned host key').waitFor()
    const { body } = await world.api('GET', `/servers/${idIn(page)}`)
    assert.equal(body.host_key, sshd.hostKey)
    assert.deepEqual(errors, [])
    await close()
  })

  it('a server is added by keyboard alone', async () => {
    const { page, close } = await openPage(world, '/app/servers')
    await isLoaded(page)
    await tabTo(page, 'Add server')
    await page.keyboard.press('Enter')
    await focusMovesTo(page, 'Name')
    await tabTo(page, 'Over SSH', 'Shift+Tab')
    await page.keyboard.press('ArrowRight')
    await tabTo(page, 'Name')
    await page.keyboard.type(LONG_NAME)
    await tabTo(page, 'Root directory')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('/srv/keyboard')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: LONG_NAME }).waitFor()
    await page.getByText(/can deploy|cannot deploy/).waitFor()
    const { body } = await world.api('GET', `/servers/${idIn(page)}`)
    assert.deepEqual([body.name, body.root_directory], [LONG_NAME, '/srv/keyboard'])
    await close()
  })

  it('an application is added from its repository, which fills in branch and name', async () => {
    const repository = await sampleRepository(world)
    const { page, errors, close } = await openPage(world, '/app/applications')
    await page.getByRole('button', { name: 'Add application' }).click()
    const dialog = page.getByRole('dialog')
    const repositoryField = dialog.getByRole('textbox', { name: 'Repository' })
    await repositoryField.fill('https://127.0.0.1:9/none.git')
    await repositoryField.blur()
    await dialog.getByText('Gantry cannot read this repository').waitFor()
    await dialog.getByLabel('Name').fill('')
    await repositoryField.fill(repository)
    await dialog.getByRole('button', { name: 'Inspect' }).click()
    await dialog.getByText('Repository found').waitFor()
    assert.equal(await dialog.getByLabel('Branch').inputValue(), 'main')
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'hello-gantry')
    await dialog.getByLabel('This machine').check()
    await dialog.getByLabel('Build command').fill('make')
    await dialog.getByText('More options').click()
    assert.equal(await dialog.getByLabel('Submodules').inputValue(), 'fetch')
    await dialog.getByLabel('Submodules').selectOption('ignore')
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByRole('button', { name: 'Add application' }).click()
    await page.getByRole('heading', { level: 1, name: 'hello-gantry' }).waitFor()
    const { body } = await world.api('GET', `/applications/${idIn(page)}`)
    await page
      .getByRole('navigation', { name: 'Pages about' })
      .getByRole('link', { name: 'Settings' })
      .click()
    await page.getByText('Leave their folders empty').waitFor()
    await page.getByRole('table', { name: 'Servers' }).getByRole('link', { name: 'This machine' }).waitFor()
    assert.deepEqual([body.build_command, body.submodules], ['make', 'ignore'])
    assert.deepEqual(errors, [])
    await close()
  })

  it('an application is added by keyboard alone', async () => {
    const repository = await sampleRepository(world)
    const { page, close } = await openPage(world, '/app/applications')
    await isLoaded(page)
    await tabTo(page, 'Add application')
    await page.keyboard.press('Enter')
    await focusMovesTo(page, 'Repository')
    await page.keyboard.type(repository)
    await tabTo(page, 'Credential')
    await page.getByText('Repository found').waitFor()
    await tabTo(page, 'Name')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('Clavier')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Clavier' }).waitFor()
    await close()
  })

  it('links, changes and removes what it shows', async () => {
    const { page, errors, close } = await openPage(world, '/app/applications')
    await page.getByRole('link', { name: 'hello-gantry', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'hello-gantry' }).waitFor()
    const application = idIn(page)
    await goTo(page, `/app/applications/${application}/settings`)
    await page.getByLabel('Server to link').selectOption('web-1')
    await page.getByRole('button', { name: 'Link server' }).click()
    await page.getByRole('button', { name: 'Unlink web-1' }).waitFor()
    await tryHealth(page)
    await page.getByRole('button', { name: 'Unlink web-1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await page.getByRole('button', { name: 'Unlink web-1' }).waitFor({ state: 'detached' })
    await goTo(page, '/app/servers')
    await page.getByRole('link', { name: 'web-1' }).click()
    await page.getByLabel('Application to link').selectOption('hello-gantry')
    await page.getByRole('button', { name: 'Link application' }).click()
    await page.getByRole('button', { name: 'Unlink hello-gantry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await page.getByRole('button', { name: 'Unlink hello-gantry' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove server' }).click()
    await page.getByText('Server web-1 removed.').waitFor()
    await goTo(page, `/app/applications/${application}/settings`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByLabel('Branch').fill('no such branch')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('dialog').locator('[aria-invalid="true"]').first().waitFor()
    await page.getByRole('dialog').getByLabel('Branch').fill('trunk')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('trunk', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove application' }).click()
    await page.getByText('Application hello-gantry removed.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  /** A health check that is not saved, on both servers, by keyboard and by mouse. */
  async function tryHealth(page: Page): Promise<void> {
    const site = createServer((_, response) => response.writeHead(503).end('the database is away'))
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    const { port } = site.address() as AddressInfo
    await page.getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Health check', { exact: true }).first().click()
    await dialog.getByLabel('Health check', { exact: true }).selectOption('HTTP request')
    await dialog.getByLabel('URL', { exact: true }).fill('example.com')
    await dialog.getByRole('button', { name: 'Try it now' }).press('Enter')
    await dialog.getByText('URL must be an http or https URL').waitFor()
    await dialog.getByLabel('URL', { exact: true }).fill(`http://127.0.0.1:${port}/`)
    assert.equal(await dialog.getByText('URL must be').count(), 0, 'the error is gone')
    await dialog.getByLabel('Try it on').selectOption('web-1')
    await dialog.getByRole('button', { name: 'Try it now' }).press('Enter')
    await dialog.getByText(/^Not healthy on web-1: HTTP 503 in \d+ ms\.$/).waitFor()
    assert.equal(await dialog.getByRole('region', { name: 'Response' }).innerText(), 'the database is away')
    await looksRight(page, 'a health check that failed')
    await dialog.getByLabel('Expected status').fill('503')
    await dialog.getByLabel('Try it on').selectOption('This machine')
    await dialog.getByRole('button', { name: 'Try it now' }).click()
    await dialog.getByText(/^Healthy on This machine: HTTP 503/).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Discard changes' }).click()
    site.close()
  }

  it('variables are edited in place, pasted from a file, and removed; errors stand at their row', async () => {
    const { page, errors, close } = await openPage(world, '/app/applications/1/variables')
    await page.getByRole('button', { name: 'Paste .env' }).click()
    const contents = 'export HOST="db # one"\nAPI_TOKEN=0123456789\nnot a line\nPATH=/bin\n'
    await page.getByRole('dialog').getByLabel('Contents').fill(contents)
    await page.getByText('Line 3: has no name and = sign').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await page.getByRole('button', { name: 'Apply to 3 variables' }).click()
    await page.getByRole('button', { name: 'Save variables' }).click()
    await page.getByText('Is reserved for Gantry or the shell.').waitFor()
    assert.equal(await page.getByLabel('Name of PATH').getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Name of PATH').fill('PATH_TO_DATA')
    await page.getByLabel('Value of HOST').fill('replica')
    await page.getByLabel('Name of API_TOKEN').fill('SERVICE_TOKEN')
    await page.getByRole('button', { name: 'Save variables' }).click()
    await page.getByRole('button', { name: 'Save variables' }).waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Value of SERVICE_TOKEN').inputValue(), '')
    await page.getByRole('button', { name: 'Remove PATH_TO_DATA' }).click()
    await page.getByRole('button', { name: 'Save variables' }).click()
    await page.getByLabel('Name of PATH_TO_DATA').waitFor({ state: 'detached' })
    assert.deepEqual(await variablesOf(world), { HOST: 'replica', SERVICE_TOKEN: '********' })
    assert.deepEqual(errors, [])
    await close()
  })

  it('variables are edited by keyboard alone, and a change of somebody else is shown beside', async () => {
    const { page, close } = await openPage(world, '/app/applications/1/variables')
    await page.getByLabel('Value of HOST').waitFor()
    await tabTo(page, 'Add variable')
    await page.keyboard.press('Enter')
    await page.keyboard.type('MODE')
    await page.keyboard.press('Tab')
    await page.keyboard.type('fast')
    await tabTo(page, 'Value of HOST', 'Shift+Tab')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('mine')
    const { body } = await world.api('GET', '/applications/1/variables')
    const host = body.find(({ name }: { name: string }) => name === 'HOST')
    await world.api('PUT', `/applications/1/variables/${host.id}`, { value: 'theirs' })
    await tabTo(page, 'Save variables')
    await page.keyboard.press('Enter')
    await page.getByText('HOST=theirs').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await tabTo(page, 'Keep mine', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Save variables')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Save variables' }).waitFor({ state: 'detached' })
    assert.deepEqual(await variablesOf(world), { HOST: 'mine', MODE: 'fast', SERVICE_TOKEN: '********' })
    await close()
  })

  it('two people who change a server see both versions', async () => {
    const { page, close } = await openPage(world, '/app/servers/1')
    await page.getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('More options').click()
    await dialog.getByLabel('Max concurrent runs').fill('3')
    await world.api('PUT', '/servers/1', { name: 'Renamed meanwhile', max_parallel_actions: 2 })
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    const both = dialog.getByRole('table', { name: 'Both versions' })
    assert.match(await both.innerText(), /Max concurrent runs\s+3\s+2/)
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByRole('heading', { level: 1, name: 'Renamed meanwhile' }).waitFor()
    const { body } = await world.api('GET', '/servers/1')
    assert.equal(body.max_parallel_actions, 3)
    await world.api('PUT', '/servers/1', { name: 'This machine' })
    await close()
  })

  it('nothing typed is lost when the API goes away, nor after a reload', async () => {
    const { page, close } = await openPage(world, '/app/applications')
    await page.getByRole('button', { name: 'Add application' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Kept')
    await dialog.getByLabel('Repository').fill('https://example.com/kept.git')
    const start = await world.stop()
    await dialog.getByRole('button', { name: 'Add application' }).click()
    await dialog.getByText('Gantry is unreachable.').first().waitFor()
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Kept')
    await start()
    page.on('dialog', (question) => void question.accept())
    await page.reload()
    await page.getByRole('button', { name: 'Add application' }).click()
    await dialog.getByText('Your unsaved changes were restored.').waitFor()
    await dialog.getByRole('button', { name: 'Add application' }).click()
    await page.getByRole('heading', { level: 1, name: 'Kept' }).waitFor()
    await close()
  })

  it('viewers see why they cannot change anything', async () => {
    const { page, close } = await openPage(world, '/app/servers', world.viewer)
    const add = page.getByRole('button', { name: 'Add server' })
    await add.focus()
    await page.getByRole('tooltip', { name: /does not include server:add/ }).waitFor()
    await page.keyboard.press('Enter')
    assert.equal(await page.getByRole('dialog').count(), 0)
    // The reason is part of the name.
    const areDisabled = async (...names: string[]) => {
      for (const name of names)
        assert.equal(
          await page.getByRole('button', { name: new RegExp(`^${name}`) }).getAttribute('aria-disabled'),
          'true',
          name,
        )
    }
    await goTo(page, '/app/applications/1/variables')
    await page.getByText('visible to people who may edit the application').first().waitFor()
    await areDisabled('Add variable', 'Paste .env', 'Deploy', 'Roll back')
    await goTo(page, '/app/applications/1/settings')
    await areDisabled('Edit', 'Unlink This machine')
    await close()
  })

  it('have no serious accessibility violation, and fit, light, dark and narrow, with long names', async () => {
    const { page, errors, close } = await openPage(world, '/app/servers')
    const { body } = await world.api('GET', '/environments/1/servers')
    const long = body.find(({ name }: { name: string }) => name === LONG_NAME)
    const application = '/app/applications/1'
    const tabs = ['', '/insights', '/variables', '/hooks', '/settings'].map((tab) => application + tab)
    const paths = ['/app/servers', `/app/servers/${long.id}`, '/app/applications', ...tabs]
    for (const path of paths) {
      await goTo(page, path)
      await looksRight(page, path, 1440)
    }
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform the writes that writes.ts lists', () => assertWrites(world, 'inventory.browser.ts'))
})

/** The number at the end of the page's path. */
function idIn(page: Page): string {
  return new URL(page.url()).pathname.split('/').at(-1)!
}

async function sampleRepository(world: PagesWorld): Promise<string> {
  return (await world.api('GET', '/applications/1')).body.repository
}

async function variablesOf(world: PagesWorld): Promise<Record<string, string>> {
  const { body } = await world.api('GET', '/applications/1/variables')
  return Object.fromEntries(
    body.map(({ name, value }: { name: string; value: string }) => [name, value]).sort(),
  )
}

/** Presses Tab until the element with this accessible name or text has the focus. */
async function tabTo(page: Page, name: string, key = 'Tab'): Promise<void> {
  const focused = `(() => {
    const one = document.activeElement
    const labels = [...(one.labels ?? [])].map((label) => label.textContent)
    return [one.getAttribute('aria-label'), ...labels, one.textContent].map((text) => (text ?? '').trim())
  })()`
  for (let presses = 0; presses < 120; presses++) {
    const names = (await page.evaluate(focused)) as string[]
    if (presses > 0 && names.some((text) => text === name)) return
    await page.keyboard.press(key)
  }
  assert.fail(`${name} was not reached with ${key}`)
}
