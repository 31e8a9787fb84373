// Approvals and freezes in a real browser: what people see at a gate, and what they decide there.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Locator } from 'playwright-core'
import { startRepository } from '#test/support/checks.ts'
import { until } from '#test/support/until.ts'
import { focusedName, tabTo } from './keyboard.ts'
import { isAccessible, looksRight } from './looks.ts'
import { goTo, isDisabledWithReason, type Login, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

const NARROW = { width: 390, height: 800 }
const PATIENCE_MS = 180_000

describe('gates in the browser', () => {
  let world: PagesWorld
  let approver: Login
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
    await world.openAll()
    approver = await world.invite('ana@example.com', { name: 'Ana Reviewer', role: 'admin' })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const setApproval = async (approval: object | null) =>
    assert.equal((await world.api('PUT', '/environments/1', { approval })).status, 200)
  const run = async (): Promise<number> =>
    (await world.api('POST', `/pipelines/${world.pipelineId}/actions`, {})).body.id
  const reasonOf = async (id: number): Promise<string> =>
    (await world.api('GET', `/actions/${id}`)).body.status_reason_code
  const isDisabled = (button: Locator) => until('the button is disabled', 10_000, () => button.isDisabled())
  const has = (id: number, reason: string) =>
    until(`${id} is ${reason}`, 20_000, async () => (await reasonOf(id)) === reason)

  it('a run that needs approval is in the list of the person, and they approve it with a comment', async () => {
    await setApproval({})
    const id = await run()
    const { page, errors, close } = await openPage(world, '/app/overview', approver)
    const region = page.getByRole('region', { name: 'Waiting for you' })
    await region.getByRole('link', { name: `Two steps #${id}` }).waitFor()
    await page.getByRole('link', { name: 'Overview 1 waiting for you' }).waitFor()
    await looksRight(page, 'the overview with a run that waits for the person')
    await region.getByRole('link', { name: `Two steps #${id}` }).click()
    const gates = page.getByRole('region', { name: 'Gates' })
    await gates.getByText('Approval: 0 of 1 approval').waitFor()
    await looksRight(page, 'a run that waits for approval')
    await gates.getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog', { name: 'Approve this run?' })
    await dialog.getByLabel('Comment').fill('Checked on staging')
    await isAccessible(page, 'the dialog that approves')
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('All targets completed.').waitFor()
    await gates.getByText('Approval: Approved').waitFor()
    await gates.getByText(/Ana Reviewer approved .*: Checked on staging/).waitFor()
    await goTo(page, '/app/overview')
    await page.getByRole('link', { name: 'Overview', exact: true }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('by keyboard alone, a person finds what waits for them, approves one run and rejects another', async () => {
    await setApproval({})
    const { page, errors, close } = await openPage(world, '/app/overview', approver)
    // Each wait ends with what it waits for, however busy the machine is.
    page.setDefaultTimeout(PATIENCE_MS)
    const gates = page.getByRole('region', { name: 'Gates' })
    async function decide(verb: 'Approve' | 'Reject', comment: string): Promise<number> {
      const id = await run()
      await goTo(page, '/app/overview')
      const waiting = page.getByRole('region', { name: 'Waiting for you' })
      await waiting.getByRole('link', { name: `Two steps #${id}` }).waitFor()
      await tabTo(page, new RegExp(`^Two steps #${id}$`))
      await page.keyboard.press('Enter')
      await gates.getByRole('button', { name: verb }).and(page.locator(':not([aria-disabled])')).waitFor()
      await tabTo(page, verb)
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: `${verb} this run?` })
      const confirm = dialog.getByRole('button', { name: verb })
      // Opening it moves the focus there.
      await confirm.and(page.locator(':focus')).waitFor()
      await tabTo(page, 'Comment', 'Shift+Tab')
      await page.keyboard.type(comment)
      await tabTo(page, verb)
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
      return id
    }
    const approved = await decide('Approve', 'Read all of it')
    await gates.getByText(/Ana Reviewer approved .*: Read all of it/).waitFor()
    await page.getByText('All targets completed.').waitFor()
    const rejected = await decide('Reject', 'After the sale')
    await gates.getByText(/Ana Reviewer rejected .*: After the sale/).waitFor()
    await gates.getByText('Approval: Not approved').waitFor()
    assert.deepEqual([await reasonOf(approved), await reasonOf(rejected)], ['COMPLETED', 'FAILED_REJECTED'])
    assert.deepEqual(errors, [])
    await close()
  })

  it('its starter sees why they cannot approve it; by keyboard, on a narrow screen, another person rejects it', async () => {
    const id = await run()
    await has(id, 'WAITING_APPROVAL')
    const starter = await openPage(world, `/app/actions/${id}`)
    await starter.page.getByText('Approval: 0 of 1 approval').waitFor()
    await isDisabledWithReason(starter.page, 'Approve', 'You started this run')
    await starter.close()

    const { page, errors, close } = await openPage(world, `/app/actions/${id}`, approver)
    await page.setViewportSize(NARROW)
    await page.getByText('Approval: 0 of 1 approval').waitFor()
    await isAccessible(page, 'a run that waits for approval at 390 px')
    await tabTo(page, 'Reject')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Reject this run?' }).waitFor()
    await until('the dialog has the focus', 10_000, async () => (await focusedName(page)) === 'Reject')
    await tabTo(page, 'Comment', 'Shift+Tab')
    await page.keyboard.type('After the sale')
    await tabTo(page, 'Reject')
    await page.keyboard.press('Enter')
    await page.getByText('Approval: Not approved').waitFor()
    await page.getByText(/Ana Reviewer rejected .*: After the sale/).waitFor()
    await has(id, 'FAILED_REJECTED')
    assert.deepEqual(errors, [])
    await close()
  })

  it('what changes while the dialog is open is not approved: the page says so, and shows what would ship now', async () => {
    const id = await run()
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`, approver)
    await page.getByText('Approval: 0 of 1 approval').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog', { name: 'Approve this run?' })
    await dialog.waitFor()
    // The page knows nothing newer: the API refuses.
    await page.route('**/gates', () => {})
    const { root_directory } = (await world.api('GET', '/servers/1')).body
    const other = { root_directory: `${root_directory}/other` }
    assert.equal((await world.api('PUT', '/servers/1', other)).status, 200)
    await dialog.getByRole('button', { name: 'Approve' }).click()
    const changed = 'Something has changed since you looked. Look at what ships now, then decide again.'
    await dialog.getByRole('alert').getByText(changed).waitFor()
    assert.equal(await dialog.getByText('Read the gates').count(), 0)
    assert.equal(await reasonOf(id), 'WAITING_APPROVAL')
    await isAccessible(page, 'an approval of something else')
    await page.unroute('**/gates')
    await dialog.getByText('Since you looked, the servers have changed.').waitFor()
    await looksRight(page, 'the dialog about something that has changed')
    await dialog.getByRole('button', { name: 'Look again' }).click()
    await page.getByText('Approval: 0 of 1 approval').waitFor()
    await until('it can be approved again', 20_000, async () => {
      const { body } = await world.api('GET', `/actions/${id}/gates`)
      return body.gates[0].details.subject !== null
    })
    await page.reload()
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('All targets completed.').waitFor()
    await world.api('PUT', '/servers/1', { root_directory })
    await setApproval(null)
    assert.deepEqual(errors, [])
    await close()
  })

  it('approval lapses while the page is open, by a change and by time: nothing outdated can be approved, at 390 px and by keyboard', async () => {
    await setApproval({})
    const id = await run()
    const { page, errors, close } = await openPage(world, `/app/actions/${id}`, approver)
    await page.setViewportSize(NARROW)
    const gates = page.getByRole('region', { name: 'Gates' })
    const approve = gates.getByRole('button', { name: 'Approve' })
    const dialog = page.getByRole('dialog', { name: 'Approve this run?' })
    const confirm = dialog.getByRole('button', { name: 'Approve' })
    await approve.and(page.locator(':not([aria-disabled])')).waitFor()
    await tabTo(page, 'Approve')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Comment').fill('Read it all')
    const { root_directory } = (await world.api('GET', '/servers/1')).body
    await world.api('PUT', '/servers/1', { root_directory: `${root_directory}/moved` })
    await dialog.getByRole('alert').getByText('Since you looked, the servers have changed.').waitFor()
    await isDisabled(confirm)
    assert.equal(await dialog.getByLabel('Comment').inputValue(), 'Read it all')
    await isAccessible(page, 'a dialog about something that changed, at 390 px')
    await page.keyboard.press('Escape')
    await approve.and(page.locator(':not([aria-disabled])')).waitFor()

    await tabTo(page, 'Approve')
    await page.keyboard.press('Enter')
    await dialog.waitFor()
    await world.sql(`update approval_requests set expires_at = now() where action_id = ${id}`)
    await dialog.getByRole('alert').getByText('This run has expired: it was not approved in time.').waitFor()
    await isDisabled(confirm)
    await page.keyboard.press('Escape')
    await gates.getByText('Approval: Expired before it was approved').waitFor()
    assert.equal(await approve.count(), 0)
    await page.getByText('Skipped: not approved in time').first().waitFor()
    await isAccessible(page, 'a run that expired, at 390 px')
    assert.equal(await reasonOf(id), 'SKIPPED_EXPIRED')
    await world.api('PUT', '/servers/1', { root_directory })
    await setApproval(null)
    assert.deepEqual(errors, [])
    await close()
  })

  it('a deploy waits for the checks that its pipeline names: the page links the check, and lets the run through', async () => {
    const closer = { after: (end: () => Promise<void>) => ends.push(end) }
    const { host, tip, url } = await startRepository(closer as never, 'github')
    const post = async (path: string, body: object) => {
      const answer = await world.api('POST', path, body)
      assert.ok(answer.status < 300, JSON.stringify(answer.body))
      return answer.body.id as number
    }
    const credentialId = await post('/organizations/1/credentials', {
      ...{ name: 'Host of the checks', provider_code: 'github', base_url: url, token: 'token' },
    })
    const applicationId = await post('/environments/1/applications', {
      ...{ name: 'Checked', repository: `${url}/acme/shop.git`, credential_id: credentialId },
      linked_resources: [{ resource_type: 'server', resource_id: 1 }],
    })
    const pipeline = { name: 'Deploy checked', operation: 'deploy' }
    const pipelineId = await post(`/pipelines/application/${applicationId}`, pipeline)
    const build = { repository: 'acme/shop', sha: tip, context: 'build', target_url: 'https://ci.test/7' }
    host.set({ ...build, state: 'pending' })

    const { page, errors, close } = await openPage(world, `/app/pipelines/${pipelineId}`)
    await page.getByRole('button', { name: 'Edit settings' }).click()
    const settings = page.getByRole('dialog', { name: 'Pipeline settings' })
    await settings.getByLabel('Wait for checks').check()
    await settings.getByLabel('Checks to wait for').fill('build')
    await settings.getByLabel('Checks to wait for').press('Enter')
    await settings.getByLabel('Time limit in minutes').fill('5')
    await looksRight(page, 'the checks that a pipeline waits for')
    await settings.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('build; at most 5 minutes').waitFor()
    const { body } = await world.api('GET', `/pipelines/${pipelineId}`)
    assert.deepEqual(body.wait_for_checks, {
      ...{ names: ['build'], ignore: [], timeout_minutes: 5, settle_seconds: 30, without_checks: 'fail' },
    })

    await page.getByRole('button', { name: 'Run', exact: true }).first().click()
    const plan = page.getByRole('dialog').getByText('Will wait until the checks of its commit are green')
    await plan.waitFor()
    await page.keyboard.press('Escape')
    const id = await post(`/pipelines/${pipelineId}/actions`, {})
    await goTo(page, `/app/actions/${id}`)
    const gates = page.getByRole('region', { name: 'Gates' })
    await gates.getByText('Checks: waiting, 0 of 1 green').waitFor()
    const link = gates.getByRole('link', { name: 'Open build' })
    assert.equal(await link.getAttribute('href'), 'https://ci.test/7')
    await looksRight(page, 'a run that waits for checks')
    await gates.getByRole('button', { name: 'Let it through' }).click()
    const dialog = page.getByRole('dialog', { name: 'Let this run through?' })
    await dialog.getByLabel('Reason').fill('The runner is broken')
    await dialog.getByRole('button', { name: 'Let it through' }).click()
    await gates.getByText('Checks: let through').waitFor()
    await gates.getByText(/Let through by .*: The runner is broken/).waitFor()
    await has(id, 'COMPLETED')
    assert.deepEqual(errors, [])
    await close()
  })

  it('the line is stopped in two clicks, a run is let through, and the banner ends the freeze', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview?organization=1')
    await page.getByRole('button', { name: 'Stop the line' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop the line' }).click()
    const banner = page.getByRole('region', { name: 'Freezes' })
    await banner.getByText('Stop the line: nothing starts in this organization. Incident').waitFor()
    await looksRight(page, 'the overview of a frozen organization')
    const [held, urgent] = [await run(), await run()]
    await has(urgent, 'WAITING_FREEZE')
    await goTo(page, `/app/actions/${urgent}`)
    await banner.waitFor()
    const gates = page.getByRole('region', { name: 'Gates' })
    await gates.getByText('Freeze: nothing starts').waitFor()
    await looksRight(page, 'a run that a freeze holds')
    await gates.getByRole('button', { name: 'Let it through' }).click()
    const dialog = page.getByRole('dialog', { name: 'Let this run through?' })
    await dialog.getByLabel('Reason').fill('Fixes the incident')
    await dialog.getByRole('button', { name: 'Let it through' }).click()
    await page.getByText('All targets completed.').waitFor()
    await gates.getByText(/Let through by .*: Fixes the incident/).waitFor()
    assert.equal(await reasonOf(held), 'WAITING_FREEZE')

    await goTo(page, '/app/environments/1')
    const slots = page.getByRole('region', { name: 'Slots and queues' })
    await slots.getByText(/^At a gate, in no queue: /).waitFor()
    await slots.getByRole('link', { name: '1 is held by a freeze' }).click()
    await page.getByRole('link', { name: `Two steps #${held}`, exact: true }).waitFor()
    assert.equal(await page.getByRole('combobox', { name: 'Gate' }).inputValue(), 'freeze')
    assert.equal(await page.getByRole('link', { name: `Two steps #${urgent}`, exact: true }).count(), 0)
    await looksRight(page, 'the list of runs at a gate')

    for (const path of ['/app/servers/1', `/app/pipelines/${world.pipelineId}`]) {
      await goTo(page, path)
      await banner.waitFor()
    }
    await banner.getByRole('button', { name: 'End freeze' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End freeze' }).click()
    await banner.waitFor({ state: 'detached' })
    await has(held, 'COMPLETED')
    assert.deepEqual(errors, [])
    await close()
  })

  it('with several organizations and none selected, the banner names the frozen one', async () => {
    const created = await world.api('POST', '/organizations', { name: 'Globex' })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const { id } = created.body
    const freeze = { name: 'Holidays', reason: 'Closed', starts_at: '2026-01-01T00:00:00Z' }
    assert.equal((await world.api('POST', `/organizations/${id}/freezes`, freeze)).status, 201)
    const { page, errors, close } = await openPage(world, '/app/overview')
    const banner = page.getByRole('region', { name: 'Freezes' })
    await banner.getByText('Holidays: nothing starts in Globex. Closed').waitFor()
    await looksRight(page, 'the overview while one of several organizations is frozen')
    await goTo(page, '/app/overview?organization=1')
    await banner.waitFor({ state: 'detached' })
    await goTo(page, `/app/overview?organization=${id}`)
    await banner.getByText('Holidays: nothing starts in this organization. Closed').waitFor()
    await banner.getByRole('button', { name: 'End freeze' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End freeze' }).click()
    await banner.waitFor({ state: 'detached' })
    assert.equal((await world.api('DELETE', `/organizations/${id}`)).status, 204)
    assert.deepEqual(errors, [])
    await close()
  })

  it('people without the permission see the banner, and why they cannot end the freeze', async () => {
    const freeze = { name: 'Holidays', reason: 'Closed', starts_at: '2026-01-01T00:00:00Z' }
    const { id } = (await world.api('POST', '/environments/1/freezes', freeze)).body
    const { page, errors, close } = await openPage(world, '/app/servers/1', world.viewer)
    const banner = page.getByRole('region', { name: 'Freezes' })
    await banner.getByText('Holidays: nothing starts in this environment. Closed').waitFor()
    await isDisabledWithReason(page, 'End freeze')
    await world.api('DELETE', `/freezes/${id}`)
    assert.deepEqual(errors, [])
    await close()
  })

  it('the page of an environment says who approves, and changes it', async () => {
    const { page, errors, close } = await openPage(world, '/app/environments/1')
    const section = page.getByRole('region', { name: 'Gates' })
    await section.getByText('Runs start without approval.').waitFor()
    await section.getByRole('button', { name: 'Edit approval' }).click()
    const dialog = page.getByRole('dialog', { name: /^Approval in/ })
    await dialog.getByLabel('Before a run starts').selectOption('yes')
    await dialog.getByLabel('Approvals', { exact: true }).fill('5')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText(/Is more than the number of people who may approve there/).waitFor()
    await dialog.getByLabel('Approvals', { exact: true }).fill('1')
    await dialog.getByLabel('Who may approve').selectOption('listed')
    await dialog.getByRole('combobox', { name: 'People and roles' }).fill('Ana')
    await page.getByRole('option', { name: 'Ana Reviewer' }).click()
    await page.keyboard.press('Escape')
    await looksRight(page, 'the form of approvals')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await section.getByText(/^1 approval by listed people and roles before a run starts/).waitFor()
    const { approval } = (await world.api('GET', '/environments/1')).body
    const { id } = (await world.api('GET', '/organizations/1/members')).body
      .map(({ user }: { user: { id: number; name: string } }) => user)
      .find(({ name }: { name: string }) => name === 'Ana Reviewer')
    assert.deepEqual(approval.from, { user_ids: [id], role_ids: [], roles: [] })
    await setApproval(null)
    assert.deepEqual(errors, [])
    await close()
  })

  it('freezes of an environment are added, changed and removed; by keyboard, on a narrow screen', async () => {
    const { page, errors, close } = await openPage(world, '/app/environments/1')
    await page.setViewportSize(NARROW)
    const section = page.getByRole('region', { name: 'Gates' })
    await section.waitFor()
    await tabTo(page, 'Add freeze')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: /^Add freeze to/ })
    await dialog.waitFor()
    await until('the name has the focus', 10_000, async () => (await focusedName(page)) === 'Name')
    await page.keyboard.type('Weekend')
    await tabTo(page, 'Reason')
    await page.keyboard.type('The team is away')
    await dialog.getByLabel('Repeats').selectOption('weekly')
    await dialog.getByLabel('Time zone').fill('Mars/Olympus')
    await tabTo(page, 'Add freeze')
    await page.keyboard.press('Enter')
    await until('the time zone is rejected', 10_000, async () => {
      const invalid = dialog.getByLabel('Time zone')
      return (await invalid.getAttribute('aria-invalid')) === 'true'
    })
    await dialog.getByLabel('Time zone').fill('Europe/Berlin')
    await looksRight(page, 'the form of a weekly freeze')
    await dialog.getByRole('button', { name: 'Add freeze' }).click()
    await section.getByText('Every week from Friday 16:00 to Monday 08:00 (Europe/Berlin)').waitFor()
    await looksRight(page, 'an environment with a weekly freeze')

    await section.getByRole('button', { name: 'Actions for freeze Weekend' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    const edit = page.getByRole('dialog', { name: 'Edit Weekend' })
    await edit.getByLabel('Repeats').selectOption('once')
    await edit.getByLabel('Starts').fill('2026-01-01T00:00')
    await edit.getByRole('button', { name: 'Save changes' }).click()
    await section.getByText(/until someone ends it/).waitFor()
    const banner = page.getByRole('region', { name: 'Freezes' })
    await banner.getByText('Weekend: nothing starts in this environment. The team is away').waitFor()

    await section.getByRole('button', { name: 'Actions for freeze Weekend' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page
      .getByRole('dialog', { name: 'End Weekend?' })
      .getByRole('button', { name: 'End freeze' })
      .click()
    await banner.waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
    await close()
  })

  it('did everything that is listed for this file', () => assertWrites(world, 'gates.browser.ts'))
})
