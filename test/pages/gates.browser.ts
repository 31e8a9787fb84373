// Approvals and freezes in a real browser: what people see at a gate, and what they decide there.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '#test/support/until.ts'
import { focusedName, tabTo } from './keyboard.ts'
import { isAccessible, looksRight } from './looks.ts'
import { goTo, isDisabledWithReason, type Login, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

const NARROW = { width: 390, height: 800 }

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
    const { root_directory } = (await world.api('GET', '/servers/1')).body
    const changed = { root_directory: `${root_directory}/other` }
    assert.equal((await world.api('PUT', '/servers/1', changed)).status, 200)
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText(/What would ship has changed since you read it/).waitFor()
    assert.equal(await reasonOf(id), 'WAITING_APPROVAL')
    await isAccessible(page, 'an approval of something else')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
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
