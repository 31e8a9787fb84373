// Organizations, projects, environments and credentials in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { findViolations } from './axe.ts'
import { looksRight } from './looks.ts'
import { goTo, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

const LONG_NAME = `${'Überlänge <b>商店</b> '.repeat(20)}`.slice(0, 254).trim()

describe('settings and credentials', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => void ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('an organization is added, renamed and removed', async () => {
    const { page, errors, close } = await openPage(world, '/app/settings')
    await page.getByRole('button', { name: 'Add organization' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Add organization' }).click()
    await dialog.locator('[aria-invalid="true"]').waitFor()
    await dialog.getByLabel('Name').fill('Second')
    await dialog.getByRole('button', { name: 'Add organization' }).click()
    await page.getByText('No projects yet').waitFor()
    await page.getByLabel('Name', { exact: true }).fill(LONG_NAME)
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText(`Organization ${LONG_NAME} saved.`).waitFor()
    await choose(page, 'More actions for the organization', 'Remove organization')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove organization' }).click()
    await page.getByText(`Organization ${LONG_NAME} removed.`).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('projects and environments are added, changed, archived and removed', async () => {
    const { page, errors, close } = await openPage(world, '/app/settings?organization=1')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add project' }).click()
    await dialog.getByLabel('Name').fill('Sample project')
    await dialog.getByRole('button', { name: 'Add project' }).click()
    await dialog.locator('[aria-invalid="true"]').waitFor()
    await dialog.getByLabel('Name').fill('Shop')
    await dialog.getByRole('button', { name: 'Add project' }).click()
    const shop = page.getByRole('listitem', { name: 'Shop', exact: true })
    await shop.getByRole('button', { name: 'Add environment' }).click()
    await dialog.getByLabel('Stage').selectOption('staging')
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Staging')
    await dialog.getByRole('button', { name: 'Add environment' }).click()
    await choose(page, 'Actions for environment Staging', 'Edit')
    await dialog.getByLabel('Name').fill('QA')
    await dialog.getByLabel('Keep old data').selectOption('As set here')
    await dialog.getByLabel('Logs (days)').fill('soon')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.locator('[aria-invalid="true"]').waitFor()
    await dialog.getByLabel('Logs (days)').fill('30')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('button', { name: 'Actions for environment QA', exact: true }).waitFor()
    const { body: names } = await world.api('GET', '/names?type=environment&q=QA')
    const { retention } = (await world.api('GET', `/environments/${names[0].id}`)).body
    const forever = { runs_days: null, runs_per_pipeline: null, requests_days: null }
    assert.deepEqual(retention, { ...forever, logs_days: 30 })
    await choose(page, 'Actions for environment QA', 'Archive')
    await dialog.getByRole('button', { name: 'Archive' }).click()
    await shop.getByText('Archived', { exact: true }).waitFor()
    await choose(page, 'Actions for environment QA', 'Unarchive')
    await shop.getByText('Archived', { exact: true }).waitFor({ state: 'detached' })
    await choose(page, 'Actions for environment QA', 'Remove')
    await dialog.getByRole('button', { name: 'Remove environment' }).click()
    await shop.getByText('No environments yet').waitFor()
    await choose(page, 'Actions for project Shop', 'Edit')
    await dialog.getByLabel('Name').fill('Store')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await choose(page, 'Actions for project Store', 'Remove')
    await dialog.getByRole('button', { name: 'Remove project' }).click()
    await page.getByText('Project Store removed.').waitFor()
    await choose(page, 'Actions for project Sample project', 'Remove')
    await dialog.getByText('Removed with it:').waitFor()
    await dialog.getByText('application Hello Gantry').waitFor()
    assert.deepEqual(await findViolations(page), [])
    assert.equal(await dialog.getByRole('button', { name: 'Remove project' }).isDisabled(), true)
    assert.deepEqual(errors, [])
    await close()
  })

  it('a credential asks only for what its provider needs, is checked, replaced and removed', async () => {
    const { page, errors, close } = await openPage(world, '/app/credentials?organization=1')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add credential' }).first().click()
    assert.equal(await dialog.getByLabel('Username').count(), 0)
    await dialog.getByLabel('Provider').selectOption('git')
    await dialog.getByRole('button', { name: 'Add credential' }).click()
    await dialog.getByText('Is required for git.').waitFor()
    await dialog.getByLabel('URL').fill('https://127.0.0.1:9')
    await dialog.getByLabel('Token').first().fill('first-token')
    await dialog.getByRole('button', { name: 'Add credential' }).click()
    await choose(page, 'Actions for Another git host', 'Check')
    await dialog.getByRole('button', { name: 'Check', exact: true }).click()
    await dialog.locator('[aria-invalid="true"]').waitFor()
    await dialog.getByLabel('Repository').fill('https://127.0.0.1:9/shop.git')
    await dialog.getByRole('button', { name: 'Check', exact: true }).click()
    await dialog.getByText('It does not work').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await choose(page, 'Actions for Another git host', 'Edit or replace the token')
    await dialog.getByLabel('New token').first().fill('second-token')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Credential Another git host saved.').waitFor()
    assert.equal(await page.evaluate("JSON.stringify(sessionStorage).includes('second-token')"), false)
    await choose(page, 'Actions for Another git host', 'Remove')
    await dialog.getByRole('button', { name: 'Remove credential' }).click()
    await page.getByText('Credential Another git host removed.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('a generated key shows its public half, and where it is used; in use, it stays', async () => {
    const { page, close } = await openPage(world, '/app/credentials?organization=1')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add credential' }).first().click()
    await dialog.getByLabel('Provider').selectOption('ssh')
    await dialog.getByLabel('Name').fill('Deploy key')
    await dialog.getByRole('button', { name: 'Add credential' }).click()
    assert.match(await dialog.getByLabel('Public key', { exact: true }).inputValue(), /^ssh-ed25519 /)
    await dialog.getByRole('button', { name: 'Done' }).click()
    const { body } = await world.api('GET', '/organizations/1/credentials')
    await world.api('POST', '/environments/1/servers', {
      name: 'web-9',
      provider_code: 'ssh',
      host: 'web-9.example.com',
      login_name: 'deploy',
      credential_id: body[0].id,
      root_directory: '/srv',
    })
    await page.reload()
    await page.getByRole('link', { name: 'web-9' }).waitFor()
    await choose(page, 'Actions for Deploy key', 'Remove')
    await dialog.getByText('It is used by web-9').waitFor()
    await dialog.getByRole('button', { name: 'Remove credential' }).click()
    await dialog.getByText('1 server (web-9) uses it').first().waitFor()
    await close()
  })

  it('a token that leaves its provider is named, and limiting it lists the hooks that stop', async () => {
    const make = async (path: string, body: object) => {
      const made = await world.api('POST', path, body)
      assert.equal(made.status, 201, JSON.stringify(made.body))
      return made.body as { id: number | string }
    }
    const credential = await make('/organizations/1/credentials', {
      name: 'Leaving',
      provider_code: 'github',
      token: 'ghp_leaving',
    })
    const application = await make('/environments/1/applications', {
      name: 'leaving',
      repository: 'https://github.com/acme/leaving',
      credential_id: credential.id,
    })
    const pipeline = await make(`/pipelines/application/${application.id}`, {
      name: 'Deploy',
      operation: 'deploy',
    })
    const hook = await make(`/pipelines/${pipeline.id}/hooks/outgoing`, {
      name: 'Proxy',
      target_url: 'https://proxy.example/',
      settings: {
        request_headers: [{ name: 'X-Token', value: '{{ application.source_provider.access_token }}' }],
      },
    })
    const { page, errors, close } = await openPage(world, `/app/hooks/outgoing/${hook.id}`)
    const alert = page.getByRole('status').filter({ hasText: 'The token leaves its provider' })
    await alert.getByText('https://proxy.example').waitFor()
    await looksRight(page, 'a hook whose token leaves its provider')
    await goTo(page, '/app/credentials?organization=1')
    const dialog = page.getByRole('dialog')
    await choose(page, 'Actions for Leaving', 'Edit or replace the token')
    await dialog.getByText('More options').click()
    await dialog.getByLabel('Other hosts of its repositories').fill('SSH.example.com')
    await dialog.getByLabel('Hooks may send it').selectOption('To the provider only')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('Proxy sends the token to https://proxy.example').first().waitFor()
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByLabel('Stop these hooks').check()
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Credential Leaving saved.').waitFor()
    const { body } = await world.api('GET', `/credentials/${credential.id}`)
    const { token_targets, ssh_hosts } = body as { token_targets: string; ssh_hosts: string[] }
    assert.deepEqual([token_targets, ssh_hosts], ['provider', ['ssh.example.com']])
    assert.deepEqual(errors, [])
    await close()
  })

  it('viewers see why they cannot change anything', async () => {
    const { page, close } = await openPage(world, '/app/settings?organization=1', world.viewer)
    await page.getByRole('heading', { name: 'Sample project' }).waitFor()
    await isLoaded(page)
    for (const name of ['Add organization', 'Add project', 'Add environment'])
      assert.equal(
        await page.getByRole('button', { name }).first().getAttribute('aria-disabled'),
        'true',
        name,
      )
    assert.equal(await page.getByRole('button', { name: 'Save changes' }).isDisabled(), true)
    await page.getByRole('button', { name: 'Actions for environment Development' }).click()
    await page.getByRole('menuitem').getByText('does not include environment:remove').waitFor()
    await close()
  })

  it('have no serious accessibility violation, and fit, light, dark and narrow', async () => {
    const { page, errors, close } = await openPage(world, '/app/settings')
    await world.api('POST', '/organizations/1/projects', { name: LONG_NAME })
    for (const path of ['/app/settings?organization=1', '/app/credentials?organization=1']) {
      await goTo(page, path)
      await looksRight(page, path, 1440)
    }
    assert.deepEqual(errors, [])
    await close()
  })

  it('perform the writes that writes.ts lists', () => assertWrites(world, 'settings.browser.ts'))
})

async function choose(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole('button', { name: menu, exact: true }).click()
  await page.getByRole('menuitem', { name: item, exact: true }).click()
}
