// Hooks that are connected to their repository at a stand-in of GitHub, or poll the repository of the sample.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { Github } from '#test/support/services/github.ts'
import { deliverByFetch } from '#test/support/services/webhooks.ts'
import { until } from '#test/support/until.ts'
import { focusMovesTo, tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { goTo, isDisabledWithReason, isLoaded, openPage, type PagesWorld } from './world.ts'

const TOKEN = 'token-of-the-host'
const FORBIDDEN = 'token-that-only-reads'

export function testRepositoryHooks(theWorld: () => PagesWorld, theGithub: () => Github): void {
  const post = async (path: string, body: object) => {
    const answer = await theWorld().api('POST', path, body)
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const addCredential = (name: string, token: string, organizationId = 1) =>
    post(`/organizations/${organizationId}/credentials`, {
      ...{ name, provider_code: 'github', base_url: theGithub().url, token },
    })
  /** An application at the stand-in, and its pipeline. */
  async function addApplication(repository: string, credentialId: number | null): Promise<number> {
    const { id } = await post('/environments/1/applications', {
      name: repository.split('/')[1],
      repository: `${theGithub().url}/${repository}.git`,
      credential_id: credentialId,
      linked_resources: [{ resource_type: 'server', resource_id: 1 }],
    })
    const pipeline = { name: `Deploy ${repository}`, operation: 'deploy' }
    return (await post(`/pipelines/application/${id}`, pipeline)).id
  }
  const section = (page: Page) => page.getByRole('region', { name: 'Repository', exact: true })
  const idOf = (page: Page) => new URL(page.url()).pathname.split('/').at(-1)!
  const webhooksOf = (repository: string) =>
    theGithub().hooks.webhooks.filter((one) => one.repository === repository)

  it('connect a repository with at most 8 clicks, from a credential, and show its first call', async () => {
    const organization = await post('/organizations', { name: 'Acme' })
    const project = await post(`/organizations/${organization.id}/projects`, { name: 'Shop' })
    const environment = { name: 'Production', type: 'production' }
    const { id } = await post(`/projects/${project.id}/environments`, environment)
    await post(`/environments/${id}/servers`, {
      ...{ name: 'web-1', provider_code: 'local', root_directory: '/srv/sites' },
    })
    await addCredential('GitHub token', TOKEN, organization.id)
    const { page, errors, close } = await openPage(theWorld(), '/app/overview')
    await isLoaded(page)
    let clicks = 0
    const click = async (target: Locator) => {
      clicks += 1
      await target.click()
    }
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await click(page.getByRole('link', { name: 'Add an application' }).first())
    await click(button('Continue'))
    await click(page.getByLabel('Repository', { exact: true }))
    await page.keyboard.insertText(`${theGithub().url}/acme/shop.git`)
    await click(button('Continue'))
    await page.getByRole('checkbox', { name: 'web-1', checked: true }).waitFor()
    await click(button('Continue'))
    await click(button('Continue'))
    await click(button('Create application and pipeline'))
    await page.getByText('Recommended').waitFor()
    await looksRight(page, 'the ways from a repository to a hook')
    await click(button('Connect'))
    await page.getByText('Connected to acme/shop').waitFor()
    assert.ok(clicks <= 8, `${clicks} clicks`)
    await page.getByText('First call received').waitFor()
    await looksRight(page, 'a hook that was connected')
    assert.equal(webhooksOf('acme/shop').length, 1)
    // It has no repositories that git could read.
    theGithub().violations.length = 0
    await page.getByRole('link', { name: 'Open hook' }).click()
    await section(page).getByText('Connected', { exact: true }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('say what was changed at the host, repair it, and are disconnected, by keyboard', async () => {
    const { id: credentialId } = await addCredential('GitHub for the keyboard', TOKEN)
    const pipelineId = await addApplication('acme/keys', credentialId)
    const { page, errors, close } = await openPage(theWorld(), `/app/hooks/new?pipeline=${pipelineId}`)
    await page.getByText('Recommended').waitFor()
    await tabTo(page, 'Connect')
    await page.keyboard.press('Enter')
    await page.getByText('Connected to acme/keys').waitFor()
    await tabTo(page, 'Open hook')
    await page.keyboard.press('Enter')
    const repository = section(page)
    await repository.getByText('Connected', { exact: true }).waitFor()
    const settings = repository.getByRole('link', { name: 'Settings at GitHub' })
    const [webhook] = webhooksOf('acme/keys')
    assert.equal(
      await settings.getAttribute('href'),
      `${theGithub().url}/acme/keys/settings/hooks/${webhook!.id}`,
    )
    await until('the ping is shown', 20_000, async () => !(await repository.innerText()).includes('None yet'))
    await looksRight(page, 'a connected hook')

    const { hooks } = theGithub()
    hooks.deliverTo(async () => null)
    const push = { ref: 'refs/heads/main', before: '1'.repeat(40), after: '2'.repeat(40) }
    await hooks.push('acme/keys', push)
    hooks.deliverTo(deliverByFetch)
    await tabTo(page, 'Check now')
    await page.keyboard.press('Enter')
    await repository.getByText(/^1 call (is being|was) caught up after the outage of /).waitFor()
    await hooks.settled()
    await tabTo(page, 'Check now')
    await page.keyboard.press('Enter')
    await repository.getByText(/^1 call was caught up after the outage of /).waitFor()

    webhook!.active = false
    await tabTo(page, 'Check now')
    await page.keyboard.press('Enter')
    await repository.getByText('Webhook disabled').waitFor()
    await repository.getByText('switched off at GitHub').waitFor()
    await looksRight(page, 'a hook whose webhook is switched off')
    await goTo(page, '/app/hooks')
    await page.getByRole('row', { name: /Webhook disabled/ }).waitFor()
    await goTo(page, '/app/overview')
    const attention = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
    const lost = attention.filter({ hasText: 'switched off at GitHub' })
    await lost.getByText('keys', { exact: true }).waitFor()
    await lost.getByRole('link').click()
    await repository.getByText('Webhook disabled').waitFor()
    await tabTo(page, 'Repair')
    await page.keyboard.press('Enter')
    await repository.getByText('Connected', { exact: true }).waitFor()
    assert.equal(webhook!.active, true)

    await tabTo(page, 'Disconnect')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Disconnect the repository?' })
    await dialog.getByText('Gantry removes the webhook at GitHub').waitFor()
    await looksRight(page, 'the question before disconnecting')
    await focusMovesTo(page, 'Disconnect')
    await page.keyboard.press('Enter')
    await page.getByText('acme/keys disconnected.').waitFor()
    await repository.getByRole('button', { name: 'Connect', exact: true }).waitFor()
    await until('the webhook is removed', 20_000, async () => webhooksOf('acme/keys').length === 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('exist although the host refuses: the missing permission is named, and URL and secret can be copied', async () => {
    theGithub().permit(FORBIDDEN, 'read')
    const { id: credentialId } = await addCredential('Read-only token', FORBIDDEN)
    const pipelineId = await addApplication('acme/locked', credentialId)
    const { page, errors, close } = await openPage(theWorld(), `/app/hooks/new?pipeline=${pipelineId}`)
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByText('The hook was created, but it is not connected').waitFor()
    await page.getByText(/Webhooks: write/).waitFor()
    await looksRight(page, 'a hook that could not be connected')
    theGithub().permit(FORBIDDEN, 'write')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Connected to acme/locked').waitFor()
    theGithub().permit(FORBIDDEN, 'read')
    assert.deepEqual(errors, [])
    await close()

    const another = await openPage(theWorld(), `/app/hooks/new?pipeline=${pipelineId}`)
    await another.page.getByRole('button', { name: 'Connect', exact: true }).click()
    await another.page.getByRole('button', { name: 'Copy URL and secret instead' }).click()
    assert.match(await another.page.getByRole('textbox', { name: 'Secret' }).inputValue(), /^[0-9a-f]{64}$/)
    await another.page.getByText('Waiting for the first call…').waitFor()
    assert.deepEqual(another.errors, [])
    await another.close()
  })

  it('poll where no host can call Gantry; the form edits branches and interval, and keeps the other settings', async () => {
    const { page, errors, close } = await openPage(theWorld(), '/app/hooks/new?pipeline=1')
    await page.getByText('Recommended').waitFor()
    await isDisabledWithReason(page, 'Connect', 'The application has no credential.')
    await looksRight(page, 'the ways from a repository without a credential')
    await page.getByRole('button', { name: 'Poll', exact: true }).click()
    await page.getByText('Polling', { exact: true }).waitFor()
    await page.getByText(/^[0-9a-f]{8}$/).waitFor()
    await looksRight(page, 'a hook that polls')
    await page.getByRole('link', { name: 'Open hook' }).click()
    await section(page).getByText('every minute').waitFor()

    const settings = page.getByRole('region', { name: 'Settings' })
    assert.ok(await settings.getByLabel('Poll the repository').isChecked())
    const seconds = settings.getByLabel('Seconds between polls')
    await seconds.fill('5')
    await seconds.blur()
    await until('it is the shortest interval', 10_000, async () => (await seconds.inputValue()) === '30')
    await seconds.fill('90')
    const branches = settings.getByLabel('Branches to poll')
    for (const branch of ['main', 'next']) {
      await branches.fill(branch)
      await branches.press('Enter')
    }
    await looksRight(page, 'the form of a hook that polls')
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Hook Poll main saved.').waitFor()
    await section(page).getByText('every 90 seconds').waitFor()
    const path = `/hooks/incoming/${idOf(page)}`
    const { settings: stored } = (await theWorld().api('GET', path)).body
    assert.deepEqual(stored.poll, { refs: ['main', 'next'], every_seconds: 90 })

    await settings.getByLabel('Name', { exact: true }).fill('Poller')
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Hook Poller saved.').waitFor()
    assert.deepEqual((await theWorld().api('GET', path)).body.settings, stored)
    assert.deepEqual(errors, [])
    await close()
  })

  it('tell why they cannot be connected, and what a viewer may not do', async () => {
    const pipelineId = await addApplication('acme/plain', null)
    const unsigned = await post(`/pipelines/${pipelineId}/hooks/incoming`, { name: 'Unsigned' })
    const { page, errors, close } = await openPage(theWorld(), `/app/hooks/incoming/${unsigned.id}`)
    await section(page).waitFor()
    await isDisabledWithReason(page, 'Connect', 'The hook has no secret.')
    const signed = await post(`/pipelines/${pipelineId}/hooks/incoming`, {
      ...{ name: 'Signed', requires_secret: true },
    })
    await goTo(page, `/app/hooks/incoming/${signed.id}`)
    await isDisabledWithReason(page, 'Connect', 'The application has no credential.')
    await close()
    const viewer = await openPage(theWorld(), `/app/hooks/incoming/${signed.id}`, theWorld().viewer)
    await isDisabledWithReason(viewer.page, 'Connect', 'does not include hook:edit')
    await looksRight(viewer.page, 'a hook that a viewer cannot connect')
    assert.deepEqual([...errors, ...viewer.errors], [])
    await viewer.close()
  })
}
